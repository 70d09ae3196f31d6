// tests/cancellation/io_case.hpp -- what the cases of I/O operations share.
// SPDX-License-Identifier: MIT
#pragma once
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <utility>
#include <vector>

#include "cancellation_case.hpp"

namespace coracle_test {
inline coracle::io_service& service_of_cases() {
  // Never destroyed: a test forks a child that exits, where the threads of this service do not exist.
  static auto* const io = new coracle::io_service;
  return *io;
}

/// complete() makes plain system calls and processes the resulting events; settle() processes those that were
/// late.
class io_case : public cancellation_case {
 protected:
  void settle() override {
    io_.process_pending_events();
    while (completed_ && !over_) io_.process_one_event();
  }
  template <class Operation>
  coracle::task<coracle::await_result_t<Operation>> to_its_end(Operation operation) {
    struct at_end {
      bool& over;
      ~at_end() { over = true; }
    } const noted{over_};
    co_return co_await std::move(operation);
  }

  coracle::io_service& io_ = service_of_cases();
  std::atomic<bool> completed_{false};
  bool over_ = false;
  char byte_ = 'x';
};

/// Receives one byte, which complete() sends.
class byte_case : public io_case {
 protected:
  virtual int sender() = 0;
  virtual int receiver() = 0;
  void complete() override {
    completed_ = ::send(sender(), "y", 1, 0) == 1;
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    return takes_byte() == (completed && !carried_out) && (byte_ == 'y') == carried_out;
  }
  /// Returns false if there is none.
  bool takes_byte() {
    char rest = 0;
    return ::recv(receiver(), &rest, 1, MSG_DONTWAIT) == 1;
  }
};

/// The buffers between the two are full until complete() reads all data.
class full_case : public io_case {
 protected:
  /// In large pieces, and then byte by byte: of many small ones the peer acknowledges the last after 40 ms,
  /// and then TCP has room again, as it has otherwise 200 ms later at the earliest.
  void fill(int from, int to) {
    filled_at_ = std::chrono::steady_clock::now();
    to_ = to;
    constexpr std::array<char, 4096> data{};
    for (const std::size_t at_once : {data.size(), std::size_t{1}}) {
      ssize_t sent;
      while ((sent = ::send(from, data.data(), at_once, MSG_DONTWAIT)) > 0) sent_ += static_cast<int>(sent);
    }
  }
  void shrink_and_fill(int from, int to) {
    const int smallest = 1;
    ::setsockopt(from, SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest);
    fill(from, to);
  }
  void complete() override {
    for (int left = sent_; left != 0;) {
      std::array<char, 4096> taken;
      const auto room = static_cast<std::size_t>(std::min(left, 4096));
      left -= static_cast<int>(std::max<ssize_t>(::recv(to_, taken.data(), room, 0), 0));
    }
    received_ = sent_;
    completed_ = true;
    io_.process_pending_events();
  }
  bool may_be_completed() override {
    return std::chrono::steady_clock::now() - filled_at_ > std::chrono::milliseconds{100};
  }
  bool intact(bool carried_out, bool) override {
    std::array<char, 4096> taken;
    pollfd more{to_, POLLIN, 0};
    while (received_ < sent_ + carried_out || ::poll(&more, 1, 0) == 1) {
      received_ += static_cast<int>(std::max<ssize_t>(::recv(to_, taken.data(), taken.size(), 0), 0));
    }
    return received_ == sent_ + carried_out;
  }

 private:
  int to_ = -1, sent_ = 0, received_ = 0;
  std::chrono::steady_clock::time_point filled_at_;
};

/// Their coroutines go on only in settle(), and they share sockets, threads and the service.
inline std::vector<cancellation_entry> io_entries(std::vector<cancellation_entry> entries) {
  for (cancellation_entry& each : entries) {
    each.ends_on_own_executor = true;
    each.raced = in_races::alone;
  }
  return entries;
}
}  // namespace coracle_test
