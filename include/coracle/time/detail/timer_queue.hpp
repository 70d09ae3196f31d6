// coracle/time/detail/timer_queue.hpp -- the timers of one clock.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/timer_service.hpp>
#include <coracle/time/detail/timer_wheel.hpp>
#include <cstddef>

namespace coracle::detail {
/// The core of every timer_service: a timer_wheel that tracks the state of each timer. Not synchronised.
class timer_queue {
 public:
  using time_point = timer_service::time_point;

  explicit timer_queue(time_point now) noexcept : wheel_(units(now)) {}

  [[nodiscard]] bool empty() const noexcept { return wheel_.empty(); }
  /// As timer_service::add().
  bool add(timer& each, time_point deadline) noexcept {
    if (each.progress == timer::state::removed) return false;
    each.progress = timer::state::waiting;
    wheel_.insert(each, units(deadline));
    return true;
  }
  /// As timer_service::remove().
  bool remove(timer& each) noexcept {
    if (each.progress == timer::state::fired || each.progress == timer::state::removed) return false;
    const bool waited = each.progress == timer::state::waiting;
    if (waited) wheel_.remove(each);
    each.progress = timer::state::removed;
    return waited;
  }
  /// Removes and returns the first timer that is due, for the caller to fire() without the lock; null if none
  /// is.
  timer* pop_due(time_point now) noexcept {
    auto* const due = static_cast<timer*>(wheel_.pop_due(units(now)));
    if (due) due->progress = timer::state::fired;
    return due;
  }
  /// When to check again: not after the first deadline; max() if there is none.
  [[nodiscard]] time_point next() const noexcept {
    const std::uint64_t first = wheel_.next();
    if (first >= units(time_point::max())) return time_point::max();
    return time_point{std::chrono::steady_clock::duration{static_cast<std::int64_t>(first)}};
  }
  [[nodiscard]] const timer_wheel& wheel() const noexcept { return wheel_; }

 private:
  static constexpr std::uint64_t units(time_point time) noexcept {
    const auto since = time.time_since_epoch().count();
    return since < 0 ? 0 : static_cast<std::uint64_t>(since);
  }

  timer_wheel wheel_;
};
/// Timers that a service removes under its lock and fires without it.
class timer_batch {
 public:
  /// Returns false if none is due.
  bool take(timer_queue& from, timer_service::time_point now) noexcept {
    count_ = 0;
    while (count_ != most && (due_[count_] = from.pop_due(now))) ++count_;
    return count_ != 0;
  }
  /// No coroutine runs before all of them have fired, because it might wait for one of the others.
  void fire() noexcept {
    const wake_after_callbacks put_off{this_thread()};
    for (std::size_t i = 0; i != count_; ++i) detail::fire(*due_[i]);
  }

 private:
  static constexpr std::size_t most = 16;
  timer* due_[most];
  std::size_t count_ = 0;
};
}  // namespace coracle::detail
