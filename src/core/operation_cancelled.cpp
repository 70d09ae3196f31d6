// src/core/operation_cancelled.cpp -- how work that failed or was stopped throws, and the text of each reason.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/task_state.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <new>

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
void detail::throw_cancelled(stop_reason why) {
  if (why == stop_reason::out_of_memory) throw std::bad_alloc();
  throw operation_cancelled{why};
}

void detail::rethrow_error_of(const task_frame& body) {
  if (const stop_reason why = stopped_outcome::reason(body.outcome); why != stop_reason::none)
    throw_cancelled(why);
  const void* const error = &body.outcome;
  rethrow_stored(*static_cast<const std::exception_ptr*>(error));
}
#endif
}  // namespace coracle
