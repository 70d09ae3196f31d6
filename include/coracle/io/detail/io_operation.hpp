// coracle/io/detail/io_operation.hpp -- the common base of awaiters of I/O operations.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/environment.hpp>
#include <coracle/io/detail/io_descriptor.hpp>
#include <coracle/io/detail/io_request.hpp>
#include <utility>

namespace coracle::detail {
/// The token that was given, or else the inherited one.
[[nodiscard]] inline const stop_token& effective_token(const stop_token& given,
                                                       const environment* inherited) noexcept {
  return given == stop_token{} && inherited ? inherited->stop : given;
}

/// Base of an awaiter that carries out one io_request. What derives from it says what await_resume() returns:
///
///     class [[nodiscard("...")]] receive_operation : public detail::io_operation {
///      public:
///       receive_operation(const io_descriptor& fd, void* to, std::size_t size, stop_token token) noexcept
///           : io_operation(fd, io_opcode::receive, to, size, std::move(token)) {}
///       std::size_t await_resume() { return static_cast<std::size_t>(take_result("receive")); }
///     };
///
/// Order         those that wait for the same thing of one descriptor (to be read, to be written) are carried
///               out in the order in which they were awaited. One that need not wait does not suspend, unless it is
///               submitted together with others; but as with every await, each 128th in a row gives way to the
///               others, and on an io_service also one that ends some 25 us or more after the loop last looked at the
///               system.
/// Resumes on    the executor on which it was awaited; outside any executor, the thread that runs the io_service, if
///               it had to wait.
/// Cancellation  requested before: nothing is started. During: it ends at once, or as soon as the kernel confirms,
///               unless the system has carried it out; what was read or written is then delivered. read_at and
///               write_at that a thread has begun end as if nobody had asked. After: no effect. A branch of a when_any() is carried out only
///               if no other is, but those of files.
/// Exceptions    await_resume(): operation_cancelled with the reason of the stop; else std::system_error.
/// Threads       a coroutine that waits in it may be destroyed on the io_service's only thread, or while no
///               thread runs the io_service, if it was awaited there or outside any executor: the request is
///               taken out, and what a thread or the kernel carries out is waited for.
/// Cost          no allocation.
class io_operation : protected io_request, stop_registration {
 public:
  /// Requires: not awaited yet.
  io_operation(io_operation&& other) noexcept
      : io_request(other), stop_registration(&stopped), given_(std::move(other.given_)) {
    CORACLE_REQUIRE(!other.suspended_, "an I/O operation was moved while it was awaited");
  }
  io_operation& operator=(io_operation&&) = delete;

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_NOINLINE_SUSPEND()
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    if constexpr (offers_choice<Promise>) {
      if (opcode < io_opcode::read_at) one_of = self.promise().get_choice();
    }
    return start(self, environment_of(self));
  }

 protected:
  io_operation(const io_descriptor& descriptor, io_opcode code, void* data, std::size_t bytes,
               stop_token token) noexcept
      : io_request(descriptor.record(), code, data, bytes),
        stop_registration(&stopped),
        given_(std::move(token)) {}
  io_operation(const io_descriptor& descriptor, io_opcode code, const void* data, std::size_t bytes,
               stop_token token) noexcept
      : io_operation(descriptor, code, const_cast<void*>(data), bytes, std::move(token)) {}
  ~io_operation() {
    if (suspended_) withdraw();
  }

  /// The first thing that await_resume() does. Gives what the system call returned; throws
  /// operation_cancelled, or std::system_error with `what` was being done.
  std::int64_t take_result(const char* what);
  /// As take_result(), but gives an error of the system as -errno.
  std::int64_t take_result_or_errno();

 private:
  /// Returns false if it is over, or never started; the coroutine then continues.
  bool start(std::coroutine_handle<> self, const environment* inherited) noexcept;
  bool goes_behind_others() noexcept;
  static void stopped(stop_listener& self) noexcept;
  CORACLE_COLD() void withdraw() noexcept;

  stop_token given_;
  stop_reason reason_ = stop_reason::none;  // of a stop request, which need not have cancelled it
  bool suspended_ = false;                  // belongs to the coroutine: awaited, and not resumed yet
};
}  // namespace coracle::detail
