// coracle/time/timeout.hpp -- stop work at a deadline or after a time.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/detail/subtree.hpp>
#include <coracle/core/invoke.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/time/detail/timer_thread.hpp>

namespace coracle {
/// Thrown by timeout(): the work was stopped because its time had expired. A failure, not a cancellation.
class timed_out : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "timed out"; }
};

namespace detail {
/// A subtree that a timer stops at a deadline, once begin() has been called.
class subtree_until : public subtree, timer {
 public:
  /// Requires: `outer` lives longer.
  explicit subtree_until(const environment& outer) noexcept : subtree(outer), timer(&expire) {}
  void begin(timer_service::time_point end) noexcept {
    if (end < environment::deadline) environment::deadline = end;
    timers_ = &timers_of(current_executor());
    if (end <= timers_->now()) {
      expired_ = request_stop(stop_reason::timed_out);
    } else if (end != timer_service::time_point::max()) {
      armed_ = true;
      timers_->add(*this, end);
    }
  }
  subtree_until(const subtree_until&) = delete;
  subtree_until& operator=(const subtree_until&) = delete;
  ~subtree_until() { disarm(); }

  /// Call when the work was stopped for `why`: throws timed_out if the deadline was the first to request it.
  CORACLE_COLD() void throw_if_expired(stop_reason why) {
    disarm();
    if (CORACLE_EXCEPTIONS() && why == stop_reason::timed_out && expired_)
      CORACLE_THROW(timed_out{}, "the operation timed out");
  }

 private:
  static void expire(timer& self) noexcept {
    auto& mine = static_cast<subtree_until&>(self);
    mine.expired_ = mine.request_stop(stop_reason::timed_out);
    mine.over_.set();
  }
  /// Never waits for a coroutine: none runs inside expire(), or on its thread before it has returned.
  void disarm() noexcept {
    if (detail::exchange(armed_, false) && !timers_->remove(*this)) over_.wait();
  }

  timer_service* timers_ = nullptr;
  one_shot over_;         // expire() no longer touches this object
  bool expired_ = false;  // belongs to expire() until over_ is set
  bool armed_ = false;
};

inline std::chrono::steady_clock::time_point moment(std::chrono::steady_clock::time_point time) noexcept {
  return time;
}
inline std::chrono::steady_clock::time_point moment(std::chrono::steady_clock::duration from_now) noexcept {
  return later_by(steady_now(), from_now);
}

/// `Awaitable` is a reference if the caller passed an lvalue. `Throws`: throw timed_out at the deadline.
template <bool Throws, class Awaitable, class Time>
task<kept_result_t<Awaitable>> limit(Awaitable child, Time time) {
  const environment* const outer = co_await read_environment([](const environment& here) { return &here; });
  subtree_until mine{*outer};
  Awaitable below = static_cast<Awaitable&&>(child);  // destroyed before `mine`, even while this is suspended
  mine.begin(moment(time));
  co_await replace_environment(mine);
  if constexpr (Throws) {
    auto end = co_await detail::passing(static_cast<Awaitable&&>(below));
    if (end.is_cancelled()) mine.throw_if_expired(end.reason());
    co_await ends_unless_value(end);
    co_return std::move(end).get();
  } else {
    co_return co_await static_cast<Awaitable&&>(below);
  }
}
}  // namespace detail

/// Awaits `child` and requests it to stop at `deadline`, with reason timed_out. The child is always joined:
/// its result or exception is passed on, even after the deadline; if it was cancelled, operation_cancelled.
/// Deadlines nest: the earliest applies, and of equal ones the outermost.
///
///     const reply r = co_await coracle::stop_at(ask(server), deadline);
///
/// Prefer timeout() if the caller handles the timeout, and stop_when() to stop on a stop token. Where the
/// deadline often passes, as_outcome(stop_after(work, 1s)) costs no exception.
/// All functions of this header move an rvalue in and refer to an lvalue, such as an event. In place of an
/// awaitable they accept a function that returns one, and keep it alive until that has ended, like invoke().
/// They use the clock of the executor on which they are awaited.
/// Resumes on    where `child` ended.
/// Cancellation  passed on to `child`. time_point::max(), or a timeout that is too long for the clock, is no
///               deadline.
/// Exceptions    those of `child`; std::bad_alloc.
/// Cost          one frame and one stop source.
template <detail::work Work>
CORACLE_CORO_WRAPPER()
auto stop_at(Work&& child, std::chrono::steady_clock::time_point deadline) {
  return detail::limit<false, detail::work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(child)),
                                                    deadline);
}
/// The same with a deadline relative to the await.
template <detail::work Work, class Rep, class Period>
CORACLE_CORO_WRAPPER()
auto stop_after(Work&& child, std::chrono::duration<Rep, Period> from_now) {
  return detail::limit<false, detail::work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(child)),
                                                    detail::clock_duration(from_now));
}
/// As stop_after(), but reports a failure instead of a cancellation: throws timed_out if `child` was
/// cancelled at this deadline. A cancellation from outside, or at a surrounding deadline that is not later,
/// stays operation_cancelled.
///
///     try { co_await coracle::timeout(ask(server), 100ms); } catch (const coracle::timed_out&) { retry(); }
template <detail::work Work, class Rep, class Period>
CORACLE_CORO_WRAPPER()
auto timeout(Work&& child, std::chrono::duration<Rep, Period> from_now) {
  return detail::limit<true, detail::work_t<Work>>(detail::as_awaitable(static_cast<Work&&>(child)),
                                                   detail::clock_duration(from_now));
}

namespace detail {
template <class T, class Time>
auto not_limited() noexcept {
  static_assert(is_work<T> || !is_work<Time>, "the work comes before the time: timeout(work(), 100ms)");
  static_assert(is_work<T> || is_work<Time>,
                "a timeout needs an awaitable: a call that returns a task, or std::move of a task that has a "
                "name; or a function that returns one");
  static_assert(!is_work<T>,
                "a timeout is a duration with its unit, such as 100ms; a deadline is a time_point of "
                "std::chrono::steady_clock");
  return any_awaiter{};
}
}  // namespace detail
template <class T, class Time = std::chrono::steady_clock::time_point>
auto stop_at(T&&, Time) {
  return detail::not_limited<T, Time>();
}
template <class T, class Time>
auto stop_after(T&&, Time) {
  return detail::not_limited<T, Time>();
}
template <class T, class Time>
auto timeout(T&&, Time) {
  return detail::not_limited<T, Time>();
}
}  // namespace coracle
