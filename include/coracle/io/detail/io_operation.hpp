// coracle/io/detail/io_operation.hpp -- the common base of awaiters of I/O operations.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/detail/event_wait.hpp>
#include <coracle/io/detail/io_descriptor.hpp>
#include <coracle/io/detail/io_request.hpp>
#include <exception>
#include <system_error>
#include <type_traits>
#include <utility>

namespace coracle::detail {
/// Base of an awaiter that carries out one io_request. The derived class adds await_resume():
///
///     class [[nodiscard("...")]] receive_operation : public detail::io_operation {
///      public:
///       receive_operation(const io_descriptor& fd, void* to, std::size_t size, stop_token token) noexcept
///           : io_operation(fd, io_opcode::receive, to, size, std::move(token)) {}
///       std::size_t await_resume();
///     };
///
///     std::size_t receive_operation::await_resume() {
///       return static_cast<std::size_t>(take_result("cannot receive"));
///     }
///     template std::exception_ptr io_failure_of(receive_operation&) noexcept;
///
/// Order         operations that wait until the same descriptor is readable are carried out in the order in
///               which they were awaited, and likewise those that wait until it is writable. An operation
///               that need not wait does not suspend, unless it is submitted together with others. But as
///               with every await, the 128th in a row gives way, and on an io_service so does one that
///               completes about 25 us or more after the last poll.
/// Resumes on    the executor on which it was awaited; outside any executor, the thread that runs the
///               io_service, if it had to wait.
/// Cancellation  stop requested before: nothing is started. During: the operation ends immediately, or as
///               soon as the kernel confirms; if the system has already carried it out, its result is
///               delivered. A read_at or write_at that a thread has begun is not affected. After: no effect.
///               Of the branches of a when_any(), at most one is carried out; this does not hold for
///               operations on files.
/// Exceptions    await_resume() throws operation_cancelled with the reason of the stop, or std::system_error.
///               A task that waits may be ended without one: docs/cancellation.md.
/// Threads       the waiting coroutine may be destroyed on the only thread of the io_service, or while no
///               thread runs it, provided it was awaited there or outside any executor. Its request is then
///               withdrawn; if a thread or the kernel is carrying it out, the destructor waits for it.
/// Cost          no allocation.
class io_operation : protected io_request, event_wait {
 public:
  /// Requires: not awaited yet.
  io_operation(io_operation&& other) noexcept
      : io_request(other),
        event_wait(&stopped, std::move(other)),
        resumes_when_stopped_(other.resumes_when_stopped_) {}
  io_operation& operator=(io_operation&&) = delete;

  bool await_ready() const noexcept { return false; }
  /// Called once the wait is over: returns why the operation was not carried out, or none. If it was not,
  /// await_resume(), which would throw that reason, need not be called.
  [[nodiscard]] stop_reason await_cancelled() noexcept;
  /// Called once the wait is over: returns the error with which await_resume() would throw, or no error. A
  /// cancelled operation gives std::errc::operation_canceled.
  [[nodiscard]] std::error_code await_error() noexcept;
  /// Call before the await, if a task that is stopped must nevertheless be resumed.
  void resume_when_stopped() noexcept { resumes_when_stopped_ = true; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    one_of = nullptr;
    if constexpr (offers_choice<Promise>) {
      if (opcode < io_opcode::read_at) one_of = self.promise().get_choice();
    }
    return start(self, environment_of(self), resumes_when_stopped_ ? nullptr : end_of_parent<Promise>());
  }

 protected:
  io_operation(const io_descriptor& descriptor, io_opcode code, void* data, std::size_t bytes,
               stop_token token) noexcept
      : io_request(descriptor.record(), code, data, bytes), event_wait(&stopped, std::move(token)) {}
  io_operation(const io_descriptor& descriptor, io_opcode code, const void* data, std::size_t bytes,
               stop_token token) noexcept
      : io_operation(descriptor, code, const_cast<void*>(data), bytes, std::move(token)) {}
  ~io_operation() {
    if (is_suspended()) withdraw();
  }

  /// Called by await_resume() first. Returns what the system call returned; throws operation_cancelled, or
  /// std::system_error with the message `what`.
  std::int64_t take_result(const char* what);
  /// As take_result(), but returns an error of the system as -errno.
  std::int64_t take_result_or_errno();

 private:
  /// Returns false if the operation has completed, or was not started; the coroutine then continues. `end`:
  /// its end_of_parent(); null if it must be resumed.
  bool start(std::coroutine_handle<> self, const environment* inherited, end_of_task* end) noexcept;
  bool goes_behind_others() noexcept;
  static void stopped(stop_listener& self) noexcept;
  static void is_over(io_event& self) noexcept;
  [[noreturn]] CORACLE_COLD() void throw_why(const char* what);
  CORACLE_COLD() bool end_if_cancelled() noexcept;
  CORACLE_COLD() void withdraw() noexcept;

  bool resumes_when_stopped_ = false;
};

/// For a program without exceptions. Called once the wait is over: returns what await_resume() would throw,
/// or null. Defined in the library for each of its operations: src/io/io_failure_of.hpp.
template <class Operation>
std::exception_ptr io_failure_of(Operation& over) noexcept;
template <class Operation>
  requires std::is_base_of_v<io_operation, Operation>
std::exception_ptr failure_of(Operation& over, internal_call) noexcept {
  return detail::io_failure_of(over);  // its name has no constraint, which compilers encode differently
}
}  // namespace coracle::detail
