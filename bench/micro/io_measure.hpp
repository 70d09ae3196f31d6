// bench/micro/io_measure.hpp -- runs a coroutine to completion on an io_service; an epoll loop to compare.
// SPDX-License-Identifier: MIT
#pragma once
#include <sys/epoll.h>
#include <unistd.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>

namespace coracle_bench {
inline coracle::task<> run_and_stop(coracle::io_service& io, coracle::task<> work) {
  co_await io.schedule();
  co_await std::move(work);
  io.stop();
}
inline coracle::task<> process_events(coracle::io_service& io) {
  io.process_events();
  co_return;
}
/// Runs `work` on `io`, whose events this thread processes.
inline void run_on(coracle::io_service& io, coracle::task<> work) {
  coracle::sync_wait(coracle::when_all(run_and_stop(io, std::move(work)), process_events(io)));
  io.reset();
}

/// The epoll instance of a hand-written loop: edge-triggered, one descriptor at a time.
class bare_epoll {
 public:
  bare_epoll() noexcept : fd_(::epoll_create1(0)) {}
  bare_epoll(const bare_epoll&) = delete;
  bare_epoll& operator=(const bare_epoll&) = delete;
  ~bare_epoll() { ::close(fd_); }

  void add(int fd) const noexcept {
    epoll_event wanted{};
    wanted.events = EPOLLIN | EPOLLET;
    wanted.data.fd = fd;
    ::epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &wanted);
  }
  /// Sleeps until a descriptor is ready.
  [[nodiscard]] int wait() const noexcept {
    epoll_event found{};
    while (::epoll_wait(fd_, &found, 1, -1) != 1) {
    }
    return found.data.fd;
  }

 private:
  int fd_;
};
}  // namespace coracle_bench
