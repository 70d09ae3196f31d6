// coracle/io/signal_set.hpp -- await signals of the process, such as Ctrl-C.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/io/detail/io_operation.hpp>
#include <cstdint>
#include <initializer_list>

namespace coracle {
class io_service;

/// Awaiter of the number of the signal.
class [[nodiscard("this waits for a signal only when it is awaited")]] signal_wait_operation
    : public detail::io_operation {
 public:
  signal_wait_operation(const detail::io_descriptor& descriptor, stop_token token) noexcept
      : io_operation(descriptor, detail::io_opcode::read, static_cast<void*>(nullptr), 1, std::move(token)) {}
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    buffer = &number_;  // not earlier: from here on, the awaiter is not moved
    return io_operation::await_suspend(self);
  }
  int await_resume();

 private:
  unsigned char number_ = 0;
};

/// Catches signals of the process for its lifetime, and delivers them to coroutines.
///
///     coracle::signal_set signals{io, {SIGINT, SIGTERM}};
///     const int number = co_await signals.wait();
///
/// A server that Ctrl-C ends: `co_await coracle::when_any(serve(), signals.wait());`
///
/// Order         each signal wakes one waiter, the longest waiting first. A signal that arrives while no
///               coroutine waits is kept for the next wait(), as long as the pipe has room (usually for 65536
///               signals).
/// Resumes on    as every I/O operation: the executor on which it was awaited; outside any executor, the
///               thread that runs the io_service.
/// Cancellation  ends the wait immediately; no signal is lost.
/// Exceptions    the constructor throws std::system_error, with std::errc::invalid_argument for a signal that
///               cannot be caught, and std::errc::device_or_resource_busy for one that another signal_set of
///               the process catches.
/// Threads       wait() may be called from any number of threads concurrently. It does not matter which
///               thread the system interrupts, so a set can be constructed at any time. The io_service must
///               outlive the set. In a child process made by fork(), the first such signal restores and then
///               takes the action that was installed before the set.
/// Cost          two descriptors; a wait allocates nothing. A signal interrupts a system call of some thread,
///               which the system restarts where it can (SA_RESTART).
class signal_set {
 public:
  /// Requires: `service` is not simulated.
  signal_set(io_service& service, std::initializer_list<int> signals);
  template <std::convertible_to<int>... Numbers>
  signal_set(io_service&, Numbers...) = delete;  // the signals are a list: signal_set{io, {SIGINT, SIGTERM}}
  signal_set(const signal_set&) = delete;
  signal_set& operator=(const signal_set&) = delete;
  /// Restores the previous actions of the signals. Requires: no coroutine is waiting.
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
