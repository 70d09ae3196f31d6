// src/core/operation_cancelled.cpp -- how work that failed or was stopped throws, and the text of each
// reason.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/task_state.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <new>
#include <typeinfo>

namespace coracle {
const char* operation_cancelled::what() const noexcept {
  switch (reason_) {
    case stop_reason::timed_out:
      return "operation cancelled: its deadline has passed";
    case stop_reason::lost_race:
      return "operation cancelled: another has won the race";
    case stop_reason::sibling_failed:
      return "operation cancelled: a sibling has failed";
    case stop_reason::shutting_down:
      return "operation cancelled: shutting down";
    default:
      return "operation cancelled";
  }
}

#if CORACLE_EXCEPTIONS()
namespace {
stop_reason reason_in(const operation_cancelled& cancelled) noexcept {
  return cancelled.reason() == stop_reason::none ? stop_reason::requested : cancelled.reason();
}
}  // namespace

#if defined(__GLIBCXX__) && defined(__GXX_RTTI)
stop_reason detail::reason_of_stop(const std::exception_ptr& error) noexcept {
  // As a handler of operation_cancelled does. The pointer holds only the address of the exception.
  void* object = *static_cast<void* const*>(static_cast<const void*>(&error));
  const bool is_caught = typeid(operation_cancelled).__do_catch(error.__cxa_exception_type(), &object, 1);
  return is_caught ? reason_in(*static_cast<const operation_cancelled*>(object)) : stop_reason::none;
}
#else
stop_reason detail::reason_of_stop(const std::exception_ptr& error) noexcept {
  try {
    rethrow_stored(error);
  } catch (const operation_cancelled& cancelled) {
    return reason_in(cancelled);
  } catch (...) {
  }
  return stop_reason::none;
}
#endif

void detail::throw_cancelled(stop_reason why) {
  if (why == stop_reason::out_of_memory) throw std::bad_alloc();
  throw operation_cancelled{why};
}

void detail::rethrow_error_of(const task_frame& body) {
  if (const stop_reason why = failed_outcome::reason(body.outcome); why != stop_reason::none)
    throw_cancelled(why);
  const void* const error = &body.outcome;
  rethrow_stored(*static_cast<const std::exception_ptr*>(error));
}
#else
stop_reason detail::reason_of_stop(const std::exception_ptr&) noexcept { return stop_reason::none; }
#endif
}  // namespace coracle
