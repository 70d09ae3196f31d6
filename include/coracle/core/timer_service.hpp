// coracle/core/timer_service.hpp -- a clock and its timers.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/chrono.hpp>
#include <coracle/core/stop.hpp>
#include <cstdint>
#include <ratio>
#include <type_traits>

namespace coracle {
class timer_service;

namespace detail {
struct timer_link {
  timer_link* next = nullptr;
  timer_link* previous = nullptr;
};
/// A deadline in a timer_wheel. It is part of the awaiter, and must not move while it is in the wheel.
struct timer_node : timer_link {
  std::uint64_t deadline = 0;  ///< in the wheel's units
};

/// A timer_service's entry for a deadline, with the function to call when it expires. It is part of the
/// awaiter.
// The lock of the service guards `progress` and the fields that the wheel uses.
//   idle      not added yet
//   waiting   in the service
//   fired     the deadline has expired: `fire` is about to be called, or was
//   removed   will not fire; a timer removed before it was added is never added
struct timer : timer_node {
  /// Wakes a coroutine or requests a stop, and is short. The timer may be gone afterwards.
  using action = void(timer&) noexcept;
  enum class state : std::uint8_t { idle, waiting, fired, removed };
  explicit timer(action* when_due) noexcept : fire(when_due) {}

  action* fire;
  plain<state> progress = state::idle;
};
/// Fires an expired timer, without the lock of the service. No coroutine runs inside the timer's function,
/// nor before the functions of all timers that expired together have returned: the coroutine might wait for
/// one of them.
inline void fire(timer& due) noexcept {
  const wake_after_callbacks put_off{this_thread()};
  due.fire(due);
}

/// Converts a delay to the clock's unit: rounded up; 0 if it is negative, max() if it is too long for the
/// clock.
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
template <class T>
inline constexpr bool is_delay = requires(const T& given) { detail::clock_duration(given); };
/// Returns max(), which means never, if the result is beyond the clock's range.
constexpr std::chrono::steady_clock::time_point later_by(std::chrono::steady_clock::time_point now,
                                                         std::chrono::steady_clock::duration delay) noexcept {
  using steady = std::chrono::steady_clock;
  // In counts: the operators of std::chrono are a dozen functions for the compiler.
  constexpr steady::rep never = steady::duration::max().count();
  const steady::rep from = now.time_since_epoch().count(), by = delay.count();
  const bool is_reached = by != never && (from <= 0 || by < never - from);
  return steady::time_point{steady::duration{is_reached ? from + by : never}};
}
}  // namespace detail

/// The clock of an executor, and its timers. An executor without a timer service uses the program's: see
/// executor::timers().
///
/// Order    timers fire by deadline; equal ones in the order in which they were added. Never early.
/// Threads  any number of threads at once, unless the executor says otherwise.
/// Cost     no allocation; add() and remove() are O(1).
class timer_service {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  [[nodiscard]] virtual time_point now() noexcept = 0;
  /// Calls `each.fire` at `deadline`, by detail::fire() on a thread of the service, and never inside this
  /// call. time_point::max() means never. If it returns true, the timer may already be gone; false if it was
  /// removed before. Requires: not added before.
  virtual bool add(detail::timer& each, time_point deadline) noexcept = 0;
  /// Returns true if the timer was waiting, and will not fire. Returns false if it was not added yet, and
  /// add() will refuse it, or if its function is about to be called or was.
  virtual bool remove(detail::timer& each) noexcept = 0;

 protected:
  ~timer_service() = default;
};

/// Returns the time of the clock of the executor on which the caller runs: std::chrono::steady_clock's, or a
/// test's.
[[nodiscard]] inline std::chrono::steady_clock::time_point steady_now() noexcept {
  executor* const here = current_executor();
  timer_service* const timers = here ? here->timers() : nullptr;
  return timers ? timers->now() : std::chrono::steady_clock::now();
}
}  // namespace coracle
