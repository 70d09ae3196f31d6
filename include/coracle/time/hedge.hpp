// coracle/time/hedge.hpp -- start a second attempt if the first is slow.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/child_group.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/time/sleep.hpp>
#include <deque>
#include <optional>

namespace coracle {
namespace detail {
/// The result of `Attempt`, called with the attempt's number, from 0, if it takes one.
template <class Attempt>
CORACLE_CORO_WRAPPER()
decltype(auto) call_attempt(Attempt& attempt, unsigned number) {
  if constexpr (std::is_invocable_v<Attempt&, unsigned>) {
    return attempt(number);
  } else {
    return attempt();
  }
}
template <class Attempt>
using hedged_t = kept_result_t<decltype(call_attempt(std::declval<Attempt&>(), 0u))>;
template <class Attempt>
concept hedges = (std::is_invocable_v<Attempt&, unsigned> || std::is_invocable_v<Attempt&>) &&
                 awaitable<decltype(call_attempt(std::declval<Attempt&>(), 0u))>;

template <class Attempt>
task<hedged_t<Attempt>> await_attempt(Attempt& attempt, unsigned number) {
  co_return co_await call_attempt(attempt, number);
}

/// The attempts of one hedge(), and the timer that starts the next.
template <class Attempt>
class hedged_attempts {
  using duration = std::chrono::steady_clock::duration;
  using result = hedged_t<Attempt>;
  struct place : group_child {
    place(child_group& its_group, task<result>&& attempt) noexcept
        : group_child(its_group), work(std::move(attempt)) {}
    child<task<result>> work;
  };

 public:
  hedged_attempts(const parent_of_children& parent, Attempt& attempt, duration delay, unsigned most)
      : group(parent), delay_(delay), timer_place_(group) {
    for (unsigned number = 0; number != most; ++number)
      places_.emplace_back(group, await_attempt(attempt, number));
    start_next();
    set_timer();
  }

  /// Called when a child has ended.
  void ended(group_child& one) noexcept {
    if (&one == &timer_place_) {
      static_cast<void>(timer_->finish());
      timer_.reset();
      if (!over() && steady_now() >= due_) start_next();
    } else if (auto& attempt = static_cast<place&>(one); !attempt.work.finish()) {
      if (!over()) {
        start_next();
      } else if (timer_ && group.running() == 1 && !group.is_stopping()) {
        all_have_failed_ = true;
        group.stop(stop_reason::sibling_failed);  // the timer, which is no longer needed
      }
    } else if (!winner_) {
      winner_ = &attempt;
      group.stop(stop_reason::lost_race);
    }
    set_timer();
  }
  /// Returns why there is neither a result nor an error, or none if there is one. Call once all have ended.
  [[nodiscard]] stop_reason stopped_for() const noexcept {
    return winner_ || all_have_failed_ ? stop_reason::none : group.stop_of_children().reason();
  }
  /// Returns the errors of all attempts, or a value if one has a result. Requires: not stopped.
  [[nodiscard]] outcome<void> end() noexcept {
    if (!winner_) {
      for (place& each : places_) group.keep(each.work.failure());
    }
    return group.finish();
  }
  /// Requires: one has a result.
  result take() { return winner_->work.result(); }

  child_group group;

 private:
  /// Returns true if no further attempt will start.
  bool over() const noexcept { return started_ == places_.size() || group.is_stopping(); }
  void start_next() noexcept {
    due_ = later_by(steady_now(), delay_);
    place& next = places_[started_++];
    group.start(next, next.work);
  }
  void set_timer() noexcept {
    if (timer_ || over()) return;
    timer_.emplace(sleep_until(due_));
    group.start(timer_place_, *timer_);
  }

  duration delay_;
  std::chrono::steady_clock::time_point due_;  // of the next attempt
  group_child timer_place_;
  std::optional<child<sleep<std::chrono::steady_clock::time_point>>> timer_;  // while it runs
  std::deque<place> places_;
  std::size_t started_ = 0;
  place* winner_ = nullptr;
  bool all_have_failed_ = false;  // before the timer expired; it was stopped then
};

template <class Attempt>
task<hedged_t<Attempt>> run_hedge(std::chrono::steady_clock::duration delay, Attempt attempt, unsigned most) {
  CORACLE_REQUIRE(most != 0, "hedge() with 0 attempts: allow at least one");
  const parent_of_children parent = co_await parent_of_children();
  if (const stop_reason why = parent.inherited().stop.reason(); why != stop_reason::none)
    co_await ends_as_stopped(why);
  co_await child_group::stack_for_starts();
  hedged_attempts<Attempt> attempts{parent, attempt, delay, most};
  while (attempts.group.running() != 0) {
    group_child& one = co_await attempts.group.next();
    attempts.ended(one);
  }
  if (const stop_reason why = attempts.stopped_for(); why != stop_reason::none) co_await ends_as_stopped(why);
  outcome<void> end = attempts.end();
  co_await ends_unless_value(end);
  end.get();
  co_return attempts.take();
}
}  // namespace detail

/// Awaits the result of `attempt()`. If it has not completed after `delay`, starts a second attempt
/// concurrently, and so on, up to `most` attempts. Returns the result of the first to succeed; if an attempt
/// fails, the next one starts immediately.
///
///     auto ask = [&](unsigned n) { return replicas[n].get(key); };  // n: 0, 1 ...; or no parameter
///     const value v = co_await coracle::hedge(10ms, ask, 2);
///
/// Reduces tail latency for little more work if the delay is about the 95th percentile: J. Dean, L. Barroso,
/// "The Tail at Scale", CACM 56(2), 2013. Attempts must be idempotent. The function is moved in. Requires:
/// most >= 1.
/// Order         attempts are started one after another, on the executor of the awaiting coroutine.
/// Resumes on    the executor of the awaiting coroutine; outside any executor, where an attempt or the timer
///               ended.
/// Cancellation  the attempts are stopped and joined; operation_cancelled, unless one has succeeded. Losing
///               attempts are stopped with the reason lost_race, like those of when_any, and joined.
/// Exceptions    if all attempts failed: that of the only attempt, or an error_group if there were several.
///               If one succeeds, the errors of the others are dropped.
/// Cost          a stop source, a frame, and for each of `most` attempts, started or not, a frame and 100
///               bytes.
template <class Attempt, class Rep, class Period>
  requires(detail::hedges<std::decay_t<Attempt>>)
CORACLE_CORO_WRAPPER()
auto hedge(std::chrono::duration<Rep, Period> delay, Attempt&& attempt, unsigned most = 2) {
  return detail::run_hedge<std::decay_t<Attempt>>(detail::clock_duration(delay),
                                                  static_cast<Attempt&&>(attempt), most);
}
template <class Delay, class Attempt>
auto hedge(const Delay&, Attempt&&, unsigned = 2) {
  static_assert(
      !sizeof(std::decay_t<Attempt>*),
      "hedge(delay, attempt, most) needs a std::chrono::duration and a function that returns an awaitable, "
      "such as a task");
  return detail::any_awaiter{};
}
}  // namespace coracle
