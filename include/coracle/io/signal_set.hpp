// coracle/io/signal_set.hpp -- await signals of the process, such as Ctrl-C.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/detail/io_operation.hpp>
#include <cstdint>
#include <initializer_list>

namespace coracle {
class io_service;

/// Gives the number of the signal.
class [[nodiscard("no signal is waited for until this is awaited")]] signal_wait_operation
    : public detail::io_operation {
 public:
  signal_wait_operation(const detail::io_descriptor& descriptor, stop_token token) noexcept
      : io_operation(descriptor, detail::io_opcode::read, static_cast<void*>(nullptr), 1, std::move(token)) {}
  template <class Promise>
  CORACLE_NOINLINE_SUSPEND()
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    buffer = &number_;  // only now: from here on this is not moved
    return io_operation::await_suspend(self);
  }
  int await_resume();

 private:
  unsigned char number_ = 0;
};

/// Catches some signals of the process, as long as it lives, for coroutines that wait for them.
///
///     coracle::signal_set signals{io, {SIGINT, SIGTERM}};
///     const int number = co_await signals.wait();
///
/// So a server that Ctrl-C ends: `co_await coracle::when_any(serve(), signals.wait());`
///
/// Order         each signal goes to one who waits, in the order in which they were awaited; one that comes while
///               nobody waits is kept for the next, as long as a pipe has room, usually for 65536.
/// Resumes on    as every I/O operation: the executor on which it was awaited; outside any executor, the thread that runs
///               the io_service.
/// Cancellation  ends the wait at once; the signal stays for the next.
/// Exceptions    the constructor: std::system_error, with std::errc::invalid_argument for what cannot be caught, and
///               std::errc::device_or_resource_busy for what another signal_set of the process catches.
/// Threads       wait() from any number of threads at once. It may be made at any time: whichever thread the system
///               interrupts, whoever waits hears of it. The io_service outlives it. In a child process that fork()
///               made, the first such signal has it do from then on what it did before.
/// Cost          two descriptors; a wait allocates nothing. What is interrupted is a system call of some thread, which
///               the system starts again where it can (SA_RESTART).
class signal_set {
 public:
  /// Requires: an io_service over the process's own system.
  signal_set(io_service& service, std::initializer_list<int> signals);
  signal_set(const signal_set&) = delete;
  signal_set& operator=(const signal_set&) = delete;
  /// What the signals did before they do again. Requires: no coroutine is waiting.
  ~signal_set();

  /// Awaitable of the number of the next signal. `token` replaces the inherited stop token.
  signal_wait_operation wait(stop_token token = {}) noexcept { return {read_, std::move(token)}; }

 private:
  explicit signal_set(io_service& service);
  void catch_one(int number);

  detail::io_descriptor read_;
  int write_ = -1;
  std::uint64_t caught_ = 0;  // bit n - 1: signal n
};
}  // namespace coracle
