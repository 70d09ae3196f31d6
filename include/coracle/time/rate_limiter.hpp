// coracle/time/rate_limiter.hpp -- a token bucket: a rate limit with bursts.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/small_mutex.hpp>
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdint>
#include <limits>

namespace coracle {
/// Limits the number of operations per period, evenly spread; unused tokens accumulate up to a limit.
///
///     coracle::rate_limiter limiter{100, 1s, 10};  // 100 a second, 10 of them at once after a pause
///     co_await limiter.acquire();
///     co_await send(request);
///
/// A token bucket that starts full: in any span of t periods at most `burst` + t * `tokens` are granted. It
/// is the continuous-state leaky bucket of ITU-T I.371, Annex A (GCRA), inverted, and computes in integers,
/// without rounding errors however long it runs.
/// A full bucket gains nothing, so each timer that fires late costs tokens if `burst` does not cover what is
/// due meanwhile: 10,000 a second with a burst of 1 come to some 8,000, with a burst of 10 to 10,000.
/// Order         first come, first served, also if the first one needs more tokens than are available: no
///               overtaking.
/// Resumes on    the executor on which the waiter suspended; outside any executor, the thread of the
///               program's timers.
/// Cancellation  a stop request ends the wait; nothing is taken, and the next waiter moves up.
/// Exceptions    acquire(): operation_cancelled; std::bad_alloc if it has to wait.
/// Threads       all members are thread-safe. All users share one clock: see executor::timers().
/// Cost          no thread; a timer for the first waiter only. Without waiting: a clock read and a lock;
///               otherwise, or as a later branch of a race, a frame.
class rate_limiter {
 public:
  using duration = std::chrono::steady_clock::duration;
  using time_point = std::chrono::steady_clock::time_point;

  /// Requires: all greater than 0, and burst * period in nanoseconds less than 2^62.
  rate_limiter(std::int64_t tokens, duration period, std::int64_t burst) noexcept
      : burst_(burst),
        price_(period.count()),
        full_(product(burst, period.count())),
        refill_(tokens < full_ ? tokens : full_),
        level_(full_) {
    CORACLE_REQUIRE(tokens > 0 && period > duration::zero() && burst > 0,
                    "a rate_limiter was constructed with tokens, a period or a burst of 0 or less: each must "
                    "be positive");
    CORACLE_REQUIRE(
        burst <= (std::numeric_limits<std::int64_t>::max() / 2) / period.count(),
        "the burst of a rate_limiter is too large: burst * period must be less than 2^62 nanoseconds");
  }
  rate_limiter(std::int64_t tokens, duration period) noexcept : rate_limiter(tokens, period, tokens) {}
  template <class Tokens, class Period, class... Burst>
    requires(!std::is_convertible_v<Period, duration>)
  rate_limiter(Tokens&&, Period&&, Burst&&...) noexcept : rate_limiter(1, duration{1}) {
    static_assert(detail::never<Period>,
                  "a rate_limiter needs a number of tokens, then a period in whole units: {100, 500ms}");
  }
  rate_limiter(const rate_limiter&) = delete;
  rate_limiter& operator=(const rate_limiter&) = delete;
  /// Requires: no coroutine is waiting.
  ~rate_limiter() {
    CORACLE_REQUIRE(waiting_ == 0,
                    "a rate_limiter was destroyed while coroutines wait for it: stop and join them first");
  }

  class acquire_operation;
  /// Awaitable of nothing: acquires `n` tokens. Requires: 0 <= n <= burst.
  acquire_operation acquire(std::int64_t n = 1) noexcept;
  /// Takes `n` tokens and returns true if they are available and no coroutine is queued. Never suspends.
  /// Requires: as acquire().
  [[nodiscard("if it returns true the tokens are taken")]] bool try_acquire(std::int64_t n = 1) noexcept {
    require_possible(n);
    const time_point now = steady_now();
    const detail::small_mutex_lock locked{guard_};
    return waiting_ == 0 && take(n, now) == duration::zero();
  }

 private:
  /// Wraps around for factors that the constructor then rejects.
  static std::int64_t product(std::int64_t a, std::int64_t b) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
  void require_possible(std::int64_t n) const noexcept {
    CORACLE_REQUIRE(n >= 0 && n <= burst_,
                    "acquire() of more tokens than the burst of a rate_limiter, or of a negative number: "
                    "raise the burst or ask for fewer");
  }
  /// Returns zero if the tokens were taken, otherwise the time until enough are available. Under the lock.
  duration take(std::int64_t n, time_point now) noexcept;
  /// Counts a waiter in `waiting_`, from before it joins the queue until after it has left.
  class counted_waiter {
   public:
    explicit counted_waiter(rate_limiter& limiter) noexcept : limiter_(limiter) {
      const detail::small_mutex_lock locked{limiter.guard_};
      ++limiter.waiting_;
    }
    counted_waiter(const counted_waiter&) = delete;
    counted_waiter& operator=(const counted_waiter&) = delete;
    ~counted_waiter() {
      const detail::small_mutex_lock locked{limiter_.guard_};
      --limiter_.waiting_;
    }

   private:
    rate_limiter& limiter_;
  };

  // The level is counted in units that make both a token and what a nanosecond adds whole numbers.
  const std::int64_t burst_;   // tokens at most
  const std::int64_t price_;   // units of a token
  const std::int64_t full_;    // units of a full burst
  const std::int64_t refill_;  // units that a nanosecond adds
  detail::small_mutex guard_;
  // Guarded by guard_:
  detail::plain<std::int64_t> level_;  // units, at looked_at_
  time_point looked_at_ = time_point{};
  detail::plain<std::size_t> waiting_ = 0;
  async_mutex turn_;  // held by the first waiter
};

class [[nodiscard("nothing is acquired until this is awaited")]] rate_limiter::acquire_operation
    : resumption {
 public:
  acquire_operation(rate_limiter& limiter, std::int64_t n) noexcept : limiter_(limiter), n_(n) {
    limiter.require_possible(n);
  }
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> suspended) {
    const environment* const inherited = detail::environment_of(suspended);
    if (inherited) refused_ = inherited->stop.reason();
    if (refused_ != stop_reason::none) return transfer_to(suspended);
    waiting_ = {};
    one_of_ = nullptr;
    if constexpr (offers_choice<Promise>) one_of_ = suspended.promise().get_choice();
    if (!one_of_ && limiter_.try_acquire(n_)) {
      handle = suspended;
      const bool posted = detail::has_to_give_way() && detail::give_way(*this);
      return posted ? std::noop_coroutine() : transfer_to(suspended);
    }
    CORACLE_TRY() { waiting_ = wait(); }
    CORACLE_CATCH(const std::bad_alloc&, error) { fail(); }
    return std::move(waiting_).plain_awaiter().await_suspend(bridge_.continues(suspended));
  }
  /// Returns why it was cancelled, or none. Called in place of await_resume() to avoid an exception.
  [[nodiscard]] stop_reason await_cancelled() noexcept {
    if (refused_ != stop_reason::none || !waiting_) return refused_;
    return std::move(waiting_).plain_awaiter().await_cancelled();
  }
  /// Returns what await_resume() would throw, or null. Requires: it was not cancelled.
  [[nodiscard]] std::exception_ptr await_failure() noexcept {
    return waiting_ ? std::move(waiting_).plain_awaiter().await_failure() : nullptr;
  }
  void await_resume() {
    if (refused_ != stop_reason::none) [[unlikely]]
      detail::throw_cancelled(refused_);
    if (waiting_) std::move(waiting_).plain_awaiter().await_resume();
  }
  /// Returns true if the tokens were taken without waiting.
  bool try_at_once(detail::internal_call) noexcept { return limiter_.try_acquire(n_); }

 private:
  detail::library_task<> wait();
  duration take(time_point now);
  /// Call in a catch block. An error ends a race as a value does, so it is thrown if the race is not over.
  [[noreturn]] void fail() {
    if (one_of_ && !one_of_->claim()) detail::throw_cancelled(stop_reason::lost_race);
    detail::rethrow_current();
  }

  rate_limiter& limiter_;
  std::int64_t n_;
  task<> waiting_;
  detail::parent_bridge bridge_;
  detail::choice* one_of_ = nullptr;
  stop_reason refused_ = stop_reason::none;
};
inline rate_limiter::acquire_operation rate_limiter::acquire(std::int64_t n) noexcept {
  return acquire_operation{*this, n};
}

inline rate_limiter::duration rate_limiter::take(std::int64_t n, time_point now) noexcept {
  if (now > looked_at_) {
    // A waiter wakes at a whole nanosecond; the surplus, less than one nanosecond adds, is kept.
    const std::int64_t most = waiting_ != 0 ? full_ + refill_ - 1 : full_;
    const std::int64_t until_full = (most - level_) / refill_;
    const std::int64_t passed = (now - looked_at_).count();
    level_ = passed > until_full ? most : level_ + passed * refill_;
    looked_at_ = now;
  }
  const std::int64_t missing = n * price_ - level_;
  if (missing > 0) return duration{(missing - 1) / refill_ + 1};
  level_ -= n * price_;
  return duration::zero();
}

/// As rate_limiter::take(). If the race is already over, the branch takes nothing and is cancelled.
inline rate_limiter::duration rate_limiter::acquire_operation::take(time_point now) {
  {
    const detail::small_mutex_lock locked{limiter_.guard_};
    if (!one_of_ || one_of_->hold()) {
      const duration delay = limiter_.take(n_, now);
      if (one_of_) one_of_->settle(delay == duration::zero());
      return delay;
    }
  }
  detail::throw_cancelled(stop_reason::lost_race);
}

}  // namespace coracle
