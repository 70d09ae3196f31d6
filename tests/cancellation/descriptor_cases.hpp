// tests/cancellation/descriptor_cases.hpp -- the user's descriptors, Unix sockets, signals and processes.
// SPDX-License-Identifier: MIT
#pragma once
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <coracle/compose/when_any.hpp>
#include <coracle/io/process.hpp>
#include <coracle/io/signal_set.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/net/unix_socket.hpp>
#include <cstdlib>
#include <span>
#include <string>

#include "io_case.hpp"

namespace coracle_test {
/// Two descriptors owned by the user, such as an inherited pair.
struct stream_pair {
  explicit stream_pair(coracle::io_service& io) : stream_pair(io, made()) {}
  coracle::stream_descriptor first, second;

 private:
  stream_pair(coracle::io_service& io, std::array<int, 2> ends) : first(io, ends[0]), second(io, ends[1]) {}
  static std::array<int, 2> made() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
    return ends;
  }
};

class stream_read_case final : public byte_case {
  coracle::task<> operation() override {
    co_await to_its_end(pair().second.read_some(std::as_writable_bytes(std::span{&byte_, 1})));
  }
  int sender() override { return pair().first.native_handle(); }
  int receiver() override { return pair().second.native_handle(); }
  stream_pair& pair() {
    static stream_pair both{io_};
    return both;
  }
};

/// One that waits to read, and one that waits to write, are the same but for what they wait for.
class stream_wait_case final : public byte_case {
  coracle::task<> operation() override {
    co_await to_its_end(pair_.second.wait_readable());
    ready_ = true;
  }
  int sender() override { return pair_.first.native_handle(); }
  int receiver() override { return pair_.second.native_handle(); }
  bool intact(bool carried_out, bool completed) override {
    return takes_byte() == completed && ready_ == carried_out;
  }
  stream_pair pair_{io_};
  bool ready_ = false;
};

class stream_write_case final : public full_case {
 public:
  stream_write_case() { shrink_and_fill(pair_.first.native_handle(), pair_.second.native_handle()); }

 private:
  coracle::task<> operation() override {
    co_await to_its_end(pair_.first.write_some(std::as_bytes(std::span{&byte_, 1})));
  }
  stream_pair pair_{io_};
};

/// Two Unix sockets that are connected to each other.
class unix_send_message_case final : public full_case {
 public:
  unix_send_message_case() { shrink_and_fill(pair_.first.native_handle(), pair_.second.native_handle()); }

 private:
  coracle::task<> operation() override {
    co_await to_its_end(pair_.first.send_message(std::as_bytes(std::span{&byte_, 1}), {}));
  }
  coracle::net::unix_pair pair_ = coracle::net::make_unix_pair(io_);
};

class unix_recv_message_case final : public byte_case {
  coracle::task<> operation() override {
    const auto received = co_await to_its_end(
        pair().second.recv_message(std::as_writable_bytes(std::span{&byte_, 1}), passed_));
    got_descriptor_ = received.descriptors == 1;
  }
  void complete() override {
    const std::array<int, 1> passed{STDERR_FILENO};
    io_.run(pair().first.send_message(std::as_bytes(std::span{&its_byte, 1}), passed));
    completed_ = true;
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    return byte_case::intact(carried_out, completed) && got_descriptor_ == carried_out &&
           passed_[0].is_open() == carried_out;
  }
  int sender() override { return pair().first.native_handle(); }
  int receiver() override { return pair().second.native_handle(); }
  coracle::net::unix_pair& pair() {
    static coracle::net::unix_pair both = coracle::net::make_unix_pair(io_);
    return both;
  }

  static constexpr char its_byte = 'y';
  std::array<coracle::owned_descriptor, 1> passed_;
  bool got_descriptor_ = false;
};

class unix_accept_case final : public io_case {
  coracle::task<> operation() override {
    accepted_ = co_await to_its_end(listener().accept());
    connected_ = true;
  }
  void complete() override {
    client_ = coracle::owned_descriptor{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    completed_ = connect(client_.get());
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    if (completed && !carried_out) {
      ::close(::accept(listener().native_handle(), nullptr, nullptr));
    }
    const int more = ::accept4(listener().native_handle(), nullptr, nullptr, SOCK_NONBLOCK);
    return more < 0 && connected_ == carried_out;
  }
  bool connect(int fd) {
    const coracle::net::unix_address to = listener().local_address();
    return ::connect(fd, static_cast<const sockaddr*>(to.native()), to.native_size()) == 0;
  }
  coracle::net::unix_socket& listener() {
    static coracle::net::unix_socket one = [this] {
      auto made = coracle::net::unix_socket::create(io_, coracle::net::unix_kind::stream);
      made.bind(coracle::net::unix_address::abstract("coracle-cases-" + std::to_string(::getpid())));
      made.listen();
      return made;
    }();
    return one;
  }

  coracle::net::unix_socket accepted_ =
      coracle::net::unix_socket::create(io_, coracle::net::unix_kind::stream);
  coracle::owned_descriptor client_;
  bool connected_ = false;
};

class signal_case final : public io_case {
  coracle::task<> operation() override { number_ = co_await to_its_end(signals().wait()); }
  void complete() override {
    completed_ = ::kill(::getpid(), its_signal) == 0;
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    const auto count_left = [this]() -> coracle::task<int> {
      int left = 0;
      for (;; ++left) {
        const auto first = co_await coracle::when_any(signals().wait(), io_.schedule());
        if (first.index() == 1) co_return left;
      }
    };
    return io_.run(count_left()) == (completed && !carried_out ? 1 : 0) &&
           number_ == (carried_out ? its_signal : 0);
  }
  coracle::signal_set& signals() {
    static coracle::signal_set one{io_, {its_signal}};
    return one;
  }

  const int its_signal = SIGWINCH;  // ignored by default; qemu has fewer real-time signals
  int number_ = 0;
};

class process_wait_case final : public io_case {
  coracle::task<> operation() override {
    const coracle::exit_status status = co_await to_its_end(child_.wait());
    was_killed_ = status.signal() == SIGKILL;
  }
  void complete() override {
    child_.signal(SIGKILL);
    completed_ = true;
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    if (was_killed_ != carried_out) return false;
    if (!completed) child_.signal(SIGKILL);
    return io_.run(child_.wait()).signal() == SIGKILL;  // known also if nobody has waited for it
  }

  coracle::process child_{io_, coracle::command{"/bin/sleep", "1000"}};
  bool was_killed_ = false;
};

inline std::vector<cancellation_entry> descriptor_cases() {
  return io_entries({{"stream_read_operation", &make_case<stream_read_case>},
                     {"stream_write_operation", &make_case<stream_write_case>},
                     {"stream_wait_operation", &make_case<stream_wait_case>},
                     {"unix_accept_operation", &make_case<unix_accept_case>},
                     {"unix_send_message_operation", &make_case<unix_send_message_case>},
                     {"unix_recv_message_operation", &make_case<unix_recv_message_case>},
                     {"signal_wait_operation", &make_case<signal_case>},
                     {"process_wait_operation", &make_case<process_wait_case>}});
}
}  // namespace coracle_test
