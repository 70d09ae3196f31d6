// coracle/core/yield.hpp -- let other coroutines of this executor run first.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/schedule.hpp>

namespace coracle::this_task {
class [[nodiscard("yield() does nothing until it is awaited")]] yield_operation
    : public detail::stoppable_hop {
 public:
  yield_operation() noexcept = default;
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    executor* const place = current_executor();
    if (!place || !departs(suspended)) [[unlikely]]
      return stay_or_depart_late(suspended);
    place->post(entry());
    return true;
  }

 private:
  template <class Promise>
  CORACLE_COLD()
  bool stay_or_depart_late(std::coroutine_handle<Promise> suspended) noexcept {
    if (const stop_reason why = departs_late(suspended); why != stop_reason::none)
      return end_here(suspended, why, detail::end_of_parent<Promise>());
    executor* const place = current_executor();
    if (place) place->post(entry());
    return place != nullptr;
  }
};

/// Awaitable of nothing: goes to the end of the current executor's queue. For a loop that computes.
///
///     for (block& each : blocks) {
///       hash.add(each);
///       co_await coracle::this_task::yield();
///     }
///
/// Unnecessary in a loop that awaits operations of this library, which give way from time to time when they
/// are ready, but not in a loop that awaits only tasks: docs/scheduling.md says what counts.
/// Order         behind the coroutines already queued there.
/// Resumes on    the executor on which it was awaited; without one it has no effect.
/// Cancellation  stop requested before, or while other coroutines run: it ends as cancelled.
/// Exceptions    operation_cancelled.
/// Cost          a post; no allocation.
[[nodiscard("yield() does nothing until it is awaited")]] inline yield_operation yield() noexcept {
  return yield_operation{};
}
}  // namespace coracle::this_task
