// coracle/sync/async_semaphore.hpp -- a concurrency limit.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/base/locked_word.hpp>
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <coracle/sync/detail/contended_lock.hpp>
#include <cstddef>
#include <limits>

namespace coracle {
class async_semaphore;

/// An acquired permit; releases it when it leaves scope.
class [[nodiscard("an unused permit is given back at once: give it a name")]] async_semaphore_permit {
 public:
  async_semaphore_permit(async_semaphore&) = delete;  // co_await semaphore.scoped_acquire()
  /// Adopts a permit that the caller has acquired, as after try_acquire().
  static async_semaphore_permit adopt(async_semaphore& acquired) noexcept {
    return async_semaphore_permit{&acquired};
  }
  async_semaphore_permit(async_semaphore_permit&& other) noexcept
      : semaphore_(detail::exchange(other.semaphore_, nullptr)) {}
  /// Releases what it held, once it has taken over what `other` holds.
  async_semaphore_permit& operator=(async_semaphore_permit&& other) noexcept {
    async_semaphore_permit replaced(static_cast<async_semaphore_permit&&>(other));
    replaced.semaphore_ = detail::exchange(semaphore_, replaced.semaphore_);
    return *this;
  }
  inline ~async_semaphore_permit();

 private:
  friend class async_semaphore;
  explicit async_semaphore_permit(async_semaphore* acquired) noexcept : semaphore_(acquired) {}

  async_semaphore* semaphore_;
};

/// A counting semaphore: a coroutine that acquires a permit suspends until one is free.
///
///     coracle::async_semaphore connections{8};
///     const auto permit = co_await connections.scoped_acquire();
///     co_await fetch(url);  // in at most eight coroutines at a time
///
/// Prefer async_mutex for a single permit that its holder releases: it checks more.
/// Order         first come, first served: permits are handed over, without barging; none is lost. A
///               semaphore that was constructed with one permit has the bounded exception of async_mutex: the
///               permit is not held for a waiter while that is in its executor's queue. At most 1024
///               coroutines overtake the first waiter, and at most four of its attempts fail, without losing
///               its place; then the permit is reserved for it.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside release(), on its
///               thread.
/// Cancellation  a stop request ends the wait; no permit is taken.
/// Exceptions    the await: operation_cancelled, without a permit. The members are noexcept.
/// Threads       all members are thread-safe. The last waiter to be woken may destroy it.
/// Cost          24 bytes; no allocation; without waiters, one atomic operation to acquire, one to release.
class async_semaphore : detail::contended_lock<async_semaphore> {
 public:
  /// The maximum number of free permits, about 2.8 x 10^14.
  static constexpr std::ptrdiff_t max() noexcept { return std::numeric_limits<std::ptrdiff_t>::max() >> 15; }

  /// Requires: 0 <= permits <= max().
  explicit async_semaphore(std::ptrdiff_t permits) noexcept
      : state_(static_cast<word>(permits) * one_permit + (permits == 1 ? of_one : 0)) {
    CORACLE_REQUIRE(permits >= 0,
                    "an async_semaphore was made with a negative number of permits: begin with 0 or more");
    CORACLE_REQUIRE(permits <= max(),
                    "an async_semaphore was made with more than max() permits: begin with fewer");
  }
  async_semaphore(const async_semaphore&) = delete;
  async_semaphore& operator=(const async_semaphore&) = delete;
  /// Requires: no coroutine is waiting.
  ~async_semaphore() {
    CORACLE_REQUIRE(
        (state_.load(detail::memory_order_relaxed) & (others_wait | waiter_woken)) == 0,
        "an async_semaphore was destroyed while coroutines wait for it: stop and join them first");
  }

  /// Acquires a permit if one is free and not reserved for a waiter. If it returns true, the caller must
  /// release(). Never suspends.
  [[nodiscard("if it returns true there is a permit to release")]] bool try_acquire() noexcept;

  class acquire_operation;
  class scoped_acquire_operation;
  /// Awaitable of nothing: acquires a permit.
  acquire_operation acquire() noexcept;
  /// Awaitable of an async_semaphore_permit.
  scoped_acquire_operation scoped_acquire() noexcept;
  /// Releases `n` permits, to the first waiters first. Requires: n >= 0, and max() is not exceeded.
  void release(std::ptrdiff_t n = 1) noexcept;

 private:
  friend contended_lock;
  friend detail::contender<async_semaphore>;
  using contender = detail::contender<async_semaphore>;

  static constexpr bool may_be_taken(word seen) noexcept {
    return seen >= one_permit && ((seen & waiter_woken) == 0 || detail::overtaking::is_allowed(seen));
  }
  /// Requires: one may be taken.
  static constexpr word taken(word seen) noexcept {
    return seen - one_permit + ((seen & waiter_woken) != 0 ? detail::overtaking::once : 0);
  }
  // For contended_lock. A woken waiter that has yet to try is owed one of the free permits.
  detail::wait_queue& queue() noexcept { return queue_; }
  static constexpr word holders(word seen) noexcept { return seen & ~(of_one - 1); }
  static constexpr bool can_enter(word seen, const contender&) noexcept {
    return seen >= ((seen & waiter_woken) == 0 ? one_permit : 2 * one_permit);
  }
  static constexpr bool may_wake(word seen) noexcept { return (seen & (of_one | waiter_woken)) == of_one; }
  static constexpr word with(word seen, const contender&) noexcept { return seen - one_permit; }
  static constexpr word waited_for(word seen) noexcept { return seen | others_wait; }

  bool enqueue(contender& arriving) noexcept;
  bool withdraw(contender& waiting) noexcept;
  void release_contended(word permits, word begun) noexcept;

  // The number of free permits, in units of one_permit; others_wait: queue_ has waiters; waiter_woken: see
  // contended_lock; of_one: constructed with one permit. It changes only under its lock. While others wait,
  // no permit is free, except one if a waiter was woken for it. Without others_wait, queue_ may hold waiters
  // whose choice was lost.
  //   [P1] load  relaxed  a load before B3, to avoid taking the lock if there is no permit
  static constexpr word others_wait = 2, waiter_woken = detail::overtaking::waiter_woken;
  static constexpr word of_one = detail::overtaking::free_for_others, one_permit = 2 * of_one;
  static constexpr word too_many = word{1} << 63;
  static constexpr const char* exceeded =
      "release() of more permits than an async_semaphore can have: release each that was acquired once";
  detail::exchanged_word<word> state_;
  detail::wait_queue queue_;
};

class [[nodiscard("no permit is taken until this is awaited"),
        gnu::warn_unused]] async_semaphore::acquire_operation
    : public detail::stoppable_wait<acquire_operation, contender> {
 public:
  explicit acquire_operation(async_semaphore& semaphore) noexcept : semaphore_(semaphore) {}
  using stoppable_wait::try_at_once;
  void await_resume() { finish(); }

 protected:
  async_semaphore& semaphore_;

 private:
  friend stoppable_wait;
  bool try_now() noexcept { return semaphore_.try_acquire(); }
  bool enqueue() noexcept { return semaphore_.enqueue(node()); }
  bool withdraw() noexcept { return semaphore_.withdraw(node()); }
};
class [[nodiscard("no permit is taken until this is awaited"),
        gnu::warn_unused]] async_semaphore::scoped_acquire_operation : public acquire_operation {
 public:
  using acquire_operation::acquire_operation;
  async_semaphore_permit await_resume() {
    finish();
    return async_semaphore_permit{&semaphore_};
  }
};

inline async_semaphore_permit::~async_semaphore_permit() {
  if (semaphore_) semaphore_->release();
}
inline async_semaphore::acquire_operation async_semaphore::acquire() noexcept {
  return acquire_operation{*this};
}
inline async_semaphore::scoped_acquire_operation async_semaphore::scoped_acquire() noexcept {
  return scoped_acquire_operation{*this};
}

inline bool async_semaphore::try_acquire() noexcept {
  if (state_.load_unlocked(detail::memory_order_relaxed) < one_permit) return false; /*P1*/
  const word seen = state_.lock();
  const bool has_one = may_be_taken(seen);
  state_.unlock(has_one ? taken(seen) : seen);
  return has_one;
}

/// Returns false if it took a permit instead, or if stop is requested.
inline bool async_semaphore::enqueue(contender& arriving) noexcept {
  const word seen = state_.lock();
  if (may_be_taken(seen)) {
    state_.unlock(queue_.serve_at_once(arriving) ? taken(seen) : seen);
    return false;
  }
  const bool waits = queue_.push(arriving);
  state_.unlock(waits ? seen | others_wait : seen);
  return waits;
}

inline bool async_semaphore::withdraw(contender& waiting) noexcept {
  const word seen = state_.lock();
  const bool must_wake = cancel(waiting);
  state_.unlock(queue_.empty() ? seen & ~others_wait : seen);
  return must_wake;
}

inline void async_semaphore::release(std::ptrdiff_t n) noexcept {
  CORACLE_REQUIRE(n >= 0,
                  "release() of a negative number of permits of an async_semaphore: release 0 or more");
  CORACLE_REQUIRE(n <= max(), exceeded);
  const word permits = static_cast<word>(n) * one_permit;
  const word seen = state_.begin_lock();
  // One test, which includes the bit that is set only above max() permits.
  if (((seen + permits) & (state_.lock_bit | others_wait | too_many)) != 0)
    return release_contended(permits, seen);
  state_.unlock(seen + permits);
}

CORACLE_NOINLINE()
inline void async_semaphore::release_contended(word permits, word begun) noexcept {
  const word sum = (state_.end_lock(begun) & ~others_wait) + permits;
  CORACLE_REQUIRE(sum < too_many, exceeded);
  let_in(sum);
}
}  // namespace coracle
