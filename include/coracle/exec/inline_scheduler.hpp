// coracle/exec/inline_scheduler.hpp -- a scheduler that stays on the calling thread.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/schedule.hpp>

namespace coracle {
/// `schedule()` continues immediately on the awaiting thread. For code that takes a scheduler but should not
/// move.
///
///     co_await coracle::schedule_on(work(), coracle::inline_scheduler{});
///
/// Resumes on    the calling thread, without suspending.
/// Cancellation  if stop was requested before, schedule() is cancelled.
/// Exceptions    operation_cancelled.
/// Threads       thread-safe.
class inline_scheduler {
 public:
  [[nodiscard]] scheduler_ref::schedule_operation schedule() const noexcept {
    return scheduler_ref{nullptr}.schedule();
  }
  friend bool operator==(inline_scheduler, inline_scheduler) = default;
};
}  // namespace coracle
