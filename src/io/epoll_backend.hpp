// SPDX-License-Identifier: MIT
#pragma once
#include <sys/epoll.h>

#include <coracle/base/small_mutex.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "blocking_threads.hpp"
#include "io_backend.hpp"
#include "made_when_needed.hpp"
#include "write_trust.hpp"

namespace coracle::detail {
/// A descriptor of the process; closed at its end.
class owned_fd {
 public:
  /// Throws std::system_error with `what` if `fd` is -1.
  owned_fd(int fd, const char* what);
  owned_fd(const owned_fd&) = delete;
  owned_fd& operator=(const owned_fd&) = delete;
  ~owned_fd();
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

/// Edge-triggered epoll: each descriptor is registered once, and the system says when it may have become
/// ready.
class epoll_backend final : public io_backend {
 public:
  explicit epoll_backend(io_loop& loop);

  io_record& attach(int fd, io_descriptor_kind kind) override;
  void detach(io_record& record) noexcept override;
  [[nodiscard]] std::size_t attached() noexcept override;
  bool submit(io_request& request) noexcept override;
  void deliver(io_request& request) noexcept override;
  void cancel(io_request& request) noexcept override;
  bool withdraw(io_request& request) noexcept override;
  signals poll(bool wait) noexcept override;
  void wake() noexcept override;
  void set_timer(std::uint64_t time) noexcept override;

 private:
  // Reading and writing know nothing of each other. `mutex` owns the queue, and `progress` and the links of
  // each request in it; it is held over the non-blocking system call, so that a descriptor that becomes ready
  // between the call and the queueing is not missed: ready() waits, and then finds the request.
  struct direction {
    small_mutex mutex;
    intrusive_list<io_event> queue;
  };
  struct record : io_record {
    io_descriptor_kind kind = io_descriptor_kind::pollable;
    bool watches_writing = false;  // belongs to writing.mutex
    record* next_free = nullptr;
    direction reading, writing;
  };

  /// What poll() sleeps in. Its first sleep ends at once, and says that it was woken and that the time has come. So whoever
  /// found none need not leave word: a wake() or a set_timer() that found none comes before that in the order of the loop's
  /// lock, and the loop looks at all there is after it.
  struct poller {
    /// Throws std::system_error.
    poller();
    /// Returns false on failure; see errno.
    bool watch(int operation, int fd, void* name, std::uint32_t events) const noexcept;

    owned_fd epoll, wake, timer;
  };

  static record& record_of(const io_request& request) noexcept {
    return static_cast<record&>(*request.record);
  }
  static bool is_file(const io_request& request) noexcept {
    return record_of(request).kind != io_descriptor_kind::pollable;
  }
  static direction& direction_of(const io_request& request) noexcept;
  bool submit_polled(io_request& request) noexcept;
  bool submit_file(io_request& request) noexcept;
  std::int64_t try_file(io_request& request) noexcept;
  void ready(direction& its) noexcept;
  bool watch_writing(record& its) noexcept;
  record& new_record();
  void free_record(record& old) noexcept;

  io_loop& loop_;
  made_when_needed<poller> poller_;  // by the first descriptor that is watched, or the first sleep
  blocking_threads threads_;
  write_trust trust_;
  // A poll() may still hold the address of a record whose descriptor has been closed, so records live as long
  // as the backend, and a new descriptor takes over an old one's. What poll() then says of it is taken as a
  // hint.
  std::mutex records_mutex_;
  std::vector<std::unique_ptr<record>> records_;
  record* free_ = nullptr;
  std::size_t attached_ = 0;
};
}  // namespace coracle::detail
