// coracle/time/sleep.hpp -- suspend for a time, or until a time.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/time/detail/timer_thread.hpp>

namespace coracle {
namespace detail {
/// The awaiter that waits for a point in time.
class sleep_operation : public stoppable_wait<sleep_operation>, timer {
  using clock = std::chrono::steady_clock;

 public:
  explicit sleep_operation(clock::duration delay) noexcept : timer(&wake_up), from_now_(true) { set(delay); }
  explicit sleep_operation(clock::time_point end) noexcept : timer(&wake_up), from_now_(false) {
    set(end.time_since_epoch());
  }
  sleep_operation(const sleep_operation&) noexcept = default;
  /// A coroutine may be destroyed while it sleeps, unless it is about to be woken.
  ~sleep_operation() {
    if (progress == state::waiting) [[unlikely]]
      give_up();
  }
  void await_resume() { finish(); }

 private:
  friend stoppable_wait;
  // Until the timer is added, `deadline` holds the requested time.
  void set(clock::duration time) noexcept { deadline = static_cast<std::uint64_t>(time.count()); }
  [[nodiscard]] clock::duration given() const noexcept {
    return clock::duration{static_cast<clock::rep>(deadline)};
  }
  clock::time_point until() noexcept {
    if (detail::exchange(from_now_, false)) set(later_by(steady_now(), given()).time_since_epoch());
    return clock::time_point{given()};
  }

  bool try_now() noexcept { return until() <= steady_now(); }
  /// A branch of a choice never completes here: wake_up() decides whether it wins.
  bool enqueue() noexcept {
    if (timers_of(node().home).add(*this, until())) return true;
    // Not in withdraw(), which may run on another thread and holds no lock that this one takes.
    static_cast<void>(node().cancel());
    return false;
  }
  /// Whichever removes the timer wakes the coroutine: this function or wake_up().
  bool withdraw() noexcept {
    const bool waited = timers_of(node().home).remove(*this);
    if (waited) static_cast<void>(node().cancel());
    return waited;
  }
  static void wake_up(timer& self) noexcept {
    queued_waiter& mine = static_cast<sleep_operation&>(self).node();
    mine.leave();
    mine.wake();
  }
  CORACLE_COLD() void give_up() noexcept {
    node().remove();
    timers_of(node().home).remove(*this);
  }

  bool from_now_;
};

/// The result of sleep_for() and sleep_until(). Can be awaited any number of times.
template <class Time>
class [[nodiscard("a sleep does nothing until it is awaited")]] sleep {
 public:
  explicit sleep(Time time) noexcept : time_(time) {}
  sleep_operation operator co_await() const noexcept { return sleep_operation{time_}; }

 private:
  Time time_;
};
}  // namespace detail

/// Awaitable of nothing: suspends for `delay`, counted from the await.
///
///     co_await coracle::sleep_for(10ms);
///
/// Both functions use the clock of the executor on which they are awaited, and never wake early.
/// Order         by time; equal times in the order in which they were awaited.
/// Resumes on    the executor on which it was awaited; outside any executor, the thread of the program's
///               timers.
/// Cancellation  ends the sleep immediately.
/// Exceptions    operation_cancelled.
/// Cost          no allocation; O(1). A delay of 0 or less completes immediately, as a ready await. One that
///               is too long for the clock, or infinite, ends only by a stop request. Requires: not NaN.
template <class Rep, class Period>
[[nodiscard("a sleep does nothing until it is awaited")]] auto sleep_for(
    std::chrono::duration<Rep, Period> delay) noexcept {
  return detail::sleep{detail::clock_duration(delay)};
}
template <class T>
auto sleep_for(T&&) noexcept {
  static_assert(!sizeof(std::decay_t<T>*), "sleep_for needs a duration, which has a unit, such as 10ms");
  return detail::any_awaiter{};
}
/// Awaitable of nothing: suspends until `time`.
[[nodiscard("a sleep does nothing until it is awaited")]] inline auto sleep_until(
    std::chrono::steady_clock::time_point time) noexcept {
  return detail::sleep{time};
}
template <class T>
  requires(!std::is_convertible_v<T, std::chrono::steady_clock::time_point>)
auto sleep_until(const T&) noexcept {
  static_assert(detail::never<T>,
                "sleep_until needs a time_point of std::chrono::steady_clock: for one of system_clock, write "
                "sleep_for(time - std::chrono::system_clock::now())");
  return detail::any_awaiter{};
}
}  // namespace coracle
