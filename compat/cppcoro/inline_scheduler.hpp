// cppcoro/inline_scheduler.hpp -- the scheduler that goes nowhere, as cppcoro has it.
// SPDX-License-Identifier: MIT
#pragma once
#include <cppcoro/coroutine.hpp>

namespace cppcoro {
/// schedule() continues at once, on the thread it is awaited on.
///
///     co_await cppcoro::schedule_on(scheduler, work());  // an inline_scheduler, where the code takes any
///
/// Prefer coracle::inline_scheduler in new code: its schedule() obeys a stop request.
/// Cancellation  none: an awaiter that never suspends does not learn of its coroutine's stop token.
class inline_scheduler {
 public:
  using schedule_operation = suspend_never;
  inline_scheduler() noexcept = default;
  [[nodiscard]] schedule_operation schedule() const noexcept { return {}; }
};
}  // namespace cppcoro
