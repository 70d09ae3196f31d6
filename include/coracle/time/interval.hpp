// coracle/time/interval.hpp -- periodic ticks.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/time/sleep.hpp>
#include <type_traits>

namespace coracle {
/// What an interval does after a tick that was late by a period or more, because its executor was busy or the
/// tick was awaited late.
enum class missed_tick : std::uint8_t {
  burst,  ///< missed ticks follow immediately, one after the other, until it has caught up
  delay,  ///< the next tick comes a full period after the late one
  skip    ///< missed ticks are dropped; the next one is the first that is still to come
};

/// A periodic timer: its ticks are a period apart, however long the work in between takes.
///
///     coracle::interval ticks{10ms, coracle::missed_tick::skip};
///     for (;;) {
///       co_await ticks.tick();  // the first one at once
///       poll();
///     }
///
/// Prefer sleep_for() for a pause between the end of one piece of work and the beginning of the next.
/// Order         the first tick is due as soon as it is awaited; the others follow from it.
/// Resumes on    as sleep_for().
/// Cancellation  ends the wait immediately; the tick is not used up.
/// Exceptions    tick(): operation_cancelled.
/// Threads       one tick at a time, always on the same clock.
/// Cost          24 bytes; no allocation.
class interval {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Requires: period > 0.
  template <class Rep, class Period>
  explicit interval(std::chrono::duration<Rep, Period> period,
                    missed_tick after_late = missed_tick::burst) noexcept
      : period_(detail::clock_duration(period)), after_late_(after_late) {
    CORACLE_REQUIRE(period_ > period_.zero(),
                    "an interval was constructed with a period of 0 or less: it must be positive");
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  explicit interval(Number, missed_tick = missed_tick::burst) noexcept {
    static_assert(!sizeof(Number*), "an interval needs a duration, which has a unit, such as 10ms");
  }

  class next_tick;
  class tick_operation;
  /// Awaitable of the time at which this tick was due. Can be awaited any number of times, for one tick each.
  next_tick tick() noexcept;

 private:
  /// Returns the time of the tick that is due, and sets the next.
  time_point take() noexcept {
    const time_point now = steady_now();
    const time_point due = next_ == time_point::min() ? now : next_;
    const bool is_late = now - due >= period_;
    next_ = detail::later_by(after_late_ == missed_tick::delay && is_late ? now : due, period_);
    if (after_late_ == missed_tick::skip && is_late) next_ = now + (period_ - (now - due) % period_);
    return due;
  }

  std::chrono::steady_clock::duration period_;
  time_point next_ = time_point::min();  // min(): as soon as it is awaited
  missed_tick after_late_;
};

class interval::tick_operation : public detail::sleep_operation {
 public:
  explicit tick_operation(interval& its) noexcept : sleep_operation(its.next_), its_(its) {}
  time_point await_resume() {
    finish();
    return its_.take();
  }

 private:
  interval& its_;
};

class [[nodiscard("a tick does nothing until it is awaited")]] interval::next_tick {
 public:
  explicit next_tick(interval& its) noexcept : its_(its) {}
  tick_operation operator co_await() const noexcept { return tick_operation{its_}; }

 private:
  interval& its_;
};
inline interval::next_tick interval::tick() noexcept { return next_tick{*this}; }
}  // namespace coracle
