// coracle/core/operation_cancelled.hpp -- the exception of a cancelled operation, and its reason.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <cstdint>
#include <exception>

namespace coracle {
/// Why work is to stop.
enum class stop_reason : std::uint8_t {
  none,            ///< no stop was requested
  requested,       ///< a stop was requested explicitly
  timed_out,       ///< its deadline has passed
  lost_race,       ///< another branch of a race has won, as in when_any()
  sibling_failed,  ///< another child of the same when_all() or scope ended with an exception
  shutting_down,   ///< the program, or a service in it, is shutting down
  out_of_memory    ///< allocation of the stop state failed: thrown as std::bad_alloc
};

/// Thrown by an operation that was stopped before it was carried out. It is not a failure: the requester of
/// the stop expects it.
///
///     try { co_await event; } catch (const coracle::operation_cancelled& e) { log(e.what()); throw; }
class operation_cancelled : public std::exception {
 public:
  operation_cancelled() noexcept = default;
  explicit operation_cancelled(stop_reason why) noexcept : reason_(why) {}
  [[nodiscard]] stop_reason reason() const noexcept { return reason_; }
  [[nodiscard]] const char* what() const noexcept override;

 private:
  stop_reason reason_ = stop_reason::requested;
};

namespace detail {
/// Returns the reason if the exception is an operation_cancelled, none if it is not, without throwing it.
/// Requires: not null.
[[nodiscard]] CORACLE_COLD() stop_reason reason_of_stop(const std::exception_ptr& error) noexcept;
#if CORACLE_EXCEPTIONS()
/// Throws operation_cancelled; std::bad_alloc for out_of_memory.
[[noreturn]] CORACLE_COLD() void throw_cancelled(stop_reason why);
#else
[[noreturn]] CORACLE_THROWS_ABI() CORACLE_COLD() inline void throw_cancelled(stop_reason why) {
  fail(why == stop_reason::out_of_memory
           ? "no memory for a stop source"
           : "a program without exceptions took the result of work that was stopped: put as_outcome() "
             "around it, or as_io_result() around an I/O operation");
}
#endif
}  // namespace detail
}  // namespace coracle
