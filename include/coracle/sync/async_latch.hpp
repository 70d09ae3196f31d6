// coracle/sync/async_latch.hpp -- wait until a count reaches zero.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/async_manual_reset_event.hpp>
#include <cstddef>

namespace coracle {
/// A single-use countdown: coroutines wait until the count has reached zero.
///
///     coracle::async_latch parts{3};
///     parts.count_down();  // when a part is finished
///     co_await parts;      // resumes after the third
///
/// Prefer when_all if the parts are tasks, async_barrier if they meet more than once.
/// Order         waiters are woken first come, first served.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside the last
///               count_down(), on its thread.
/// Cancellation  a stop request ends the wait; the count is not affected.
/// Exceptions    the await: operation_cancelled. The members are noexcept.
/// Threads       all members are thread-safe. A coroutine that has waited, or has seen is_ready(), sees
///               everything done before each count_down() that was needed, and may destroy the latch if it is
///               not otherwise in use: the last count_down() does not touch it after that, though it may not
///               have returned.
/// Cost          32 bytes; no allocation; count_down() is one atomic operation, the last one two.
class async_latch {
 public:
  /// With a count of zero or less the latch is ready immediately.
  explicit async_latch(std::ptrdiff_t initial_count) noexcept
      : count_(initial_count), reached_zero_(initial_count <= 0) {}
  async_latch(const async_latch&) = delete;
  async_latch& operator=(const async_latch&) = delete;
  /// Requires: no coroutine is waiting.
  ~async_latch() {
    CORACLE_REQUIRE(!reached_zero_.is_waited_for(),
                    "an async_latch was destroyed while coroutines wait for it: stop and join them first");
  }

  /// Returns true if an await would not suspend.
  [[nodiscard]] bool is_ready() const noexcept { return reached_zero_.is_set(); }
  /// Subtracts `n` from the count, and wakes all waiters if that makes it zero or less. No effect if it
  /// already was. Requires: n >= 0.
  void count_down(std::ptrdiff_t n = 1) noexcept {
    CORACLE_REQUIRE(n >= 0, "an async_latch counts down only: count_down() was given a negative number");
    if (count_.fetch_sub(n, detail::memory_order_acq_rel) <= n) reached_zero_.set(); /*L1*/
  }
  async_manual_reset_event::wait_operation operator co_await() const noexcept {
    return reached_zero_.operator co_await();
  }

 private:
  // Only the count_down() that reaches zero touches anything after L1: the event, whose set() no longer
  // touches it once a waiter is woken. So the event defines readiness: a thread that saw only a count of zero
  // and then destroyed the latch would destroy the event during that set().
  //   [L1] count - n  acq_rel  publish what was done before; the last one sees what all did   pairs with L1
  detail::atomic<std::ptrdiff_t> count_;
  async_manual_reset_event reached_zero_;
};
}  // namespace coracle
