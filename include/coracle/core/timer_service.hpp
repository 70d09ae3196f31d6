// coracle/core/timer_service.hpp -- a clock and its timers.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/chrono.hpp>
#include <coracle/core/stop.hpp>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>
#include <utility>

namespace coracle {
class timer_service;

namespace detail {
struct timer_link {
  timer_link* next = nullptr;
  timer_link* previous = nullptr;
};
/// A deadline that a timer_wheel keeps. It lives in whoever waits, and stays at its address while it is kept.
struct timer_node : timer_link {
  std::uint64_t deadline = 0;  ///< in the wheel's units
};

/// What a timer_service keeps of a deadline, and calls when it has come. It lives in the awaiter.
//
// `progress` and what the wheel uses belong to the lock of the service.
//   idle      not added yet
//   waiting   in the service
//   fired     its time has come: `fire` is about to be called, or was
//   removed   will not fire; also before it was added, which then does not happen
struct timer : timer_node {
  /// Wakes a coroutine or requests a stop, and is short. The timer may be gone once it has done so.
  using action = void(timer&) noexcept;
  enum class state : std::uint8_t { idle, waiting, fired, removed };
  explicit timer(action* when_due) noexcept : fire(when_due) {}

  action* fire;
  plain<state> progress = state::idle;
};
/// What a service does with a timer that is due, without its lock. No coroutine runs inside the timer's
/// function, nor before those of all timers that were taken out together have returned: it might wait for one
/// of them.
inline void fire(timer& due) noexcept {
  const wake_after_callbacks put_off{this_thread()};
  due.fire(due);
}

/// A delay in the clock's unit: rounded up; 0 if it is negative, max() if it is too long for the clock.
template <class Rep, class Period>
constexpr std::chrono::steady_clock::duration clock_duration(
    std::chrono::duration<Rep, Period> delay) noexcept {
  using steady = std::chrono::steady_clock::duration;
  using factor = std::ratio_divide<Period, steady::period>;
  if (!(delay > delay.zero())) {
    CORACLE_REQUIRE(delay <= delay.zero(), "a delay that is not a number (NaN) was given");
    return steady::zero();
  }
  if constexpr (std::is_integral_v<Rep> && factor::den == 1) {
    constexpr auto most = static_cast<std::uint64_t>(steady::max().count() / factor::num);
    if (static_cast<std::uint64_t>(delay.count()) > most) return steady::max();
    return steady{static_cast<steady::rep>(delay.count()) * factor::num};
  } else {
    // Wide enough for every value of a 64-bit count.
    using wide = std::conditional_t<std::is_integral_v<Rep>, long double, Rep>;
    const auto units = std::chrono::duration<wide, steady::period>(delay).count();
    constexpr auto limit = static_cast<wide>(std::uint64_t{1} << 63);
    if (!(units < limit)) return steady::max();
    const auto whole = static_cast<steady::rep>(units);
    return steady{static_cast<wide>(whole) < units ? whole + 1 : whole};
  }
}
/// max(), which is never, where the clock does not reach so far.
constexpr std::chrono::steady_clock::time_point later_by(std::chrono::steady_clock::time_point now,
                                                         std::chrono::steady_clock::duration delay) noexcept {
  using time_point = std::chrono::steady_clock::time_point;
  const bool reached =
      now.time_since_epoch() <= time_point::duration::zero() || delay < time_point::max() - now;
  return reached && delay != delay.max() ? now + delay : time_point::max();
}
}  // namespace detail

/// The clock of an executor, and the timers that go by it. An executor that has none of its own leaves both
/// to the program's: see executor::timers().
///
/// Order    timers fire by deadline; equal ones in the order in which they were added. Never early.
/// Threads  any number of threads at once, unless the executor says otherwise.
/// Cost     no allocation; add() and remove() are O(1).
class timer_service {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  [[nodiscard]] virtual time_point now() noexcept = 0;
  /// Calls `each.fire` at `deadline`, by detail::fire() on a thread of the service; never inside this call.
  /// The timer may be gone when this returns true. False: it was removed before. time_point::max(): never.
  /// Requires: not added before.
  virtual bool add(detail::timer& each, time_point deadline) noexcept = 0;
  /// True: it was waiting, and will not fire. False: it was not there yet, and add() will refuse it; or its
  /// function is about to be called, or was.
  virtual bool remove(detail::timer& each) noexcept = 0;

 protected:
  ~timer_service() = default;
};

/// The time by the clock of the executor on which the caller runs: std::chrono::steady_clock's, or a test's.
[[nodiscard]] inline std::chrono::steady_clock::time_point steady_now() noexcept {
  executor* const here = current_executor();
  timer_service* const timers = here ? here->timers() : nullptr;
  return timers ? timers->now() : std::chrono::steady_clock::now();
}
}  // namespace coracle
