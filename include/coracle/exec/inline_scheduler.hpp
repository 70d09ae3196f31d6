// coracle/exec/inline_scheduler.hpp -- the scheduler that goes nowhere.
// SPDX-License-Identifier: MIT
#pragma once
#include <coroutine>

namespace coracle {
/// `schedule()` continues at once, on the thread it is awaited on. For code that takes a scheduler and shall
/// not move.
///
///     co_await coracle::schedule_on(coracle::inline_scheduler{}, work());
///
/// Resumes on  the calling thread, without suspending.
/// Threads     any number of threads at once.
class inline_scheduler {
 public:
  [[nodiscard]] std::suspend_never schedule() const noexcept { return {}; }
  friend bool operator==(inline_scheduler, inline_scheduler) = default;
};
}  // namespace coracle
