// coracle/exec/inline_scheduler.hpp -- the scheduler that goes nowhere.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/schedule.hpp>

namespace coracle {
/// `schedule()` continues at once, on the thread it is awaited on. For code that takes a scheduler and shall
/// not move.
///
///     co_await coracle::schedule_on(work(), coracle::inline_scheduler{});
///
/// Resumes on    the calling thread, without suspending.
/// Cancellation  stop requested before: schedule() ends as cancelled.
/// Exceptions    operation_cancelled.
/// Threads       any number of threads at once.
class inline_scheduler {
 public:
  [[nodiscard]] scheduler_ref::schedule_operation schedule() const noexcept {
    return scheduler_ref{nullptr}.schedule();
  }
  friend bool operator==(inline_scheduler, inline_scheduler) = default;
};
}  // namespace coracle
