// coracle/sync/async_mutex.hpp -- mutual exclusion that may be held across co_await.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/waited_word.hpp>
#include <coracle/sync/detail/contended_lock.hpp>
#include <cstdint>

namespace coracle {
class async_mutex;

/// A held lock; unlocks when it leaves scope.
class [[nodiscard("an unused lock unlocks at once: give it a name")]] async_mutex_lock {
 public:
  async_mutex_lock(async_mutex&) = delete;  // const auto lock = co_await mutex.scoped_lock_async()
  /// Adopts a lock that the caller holds, as after try_lock(). Requires: held.
  static inline async_mutex_lock adopt(async_mutex& held) noexcept;
  async_mutex_lock(async_mutex_lock&& other) noexcept : mutex_(detail::exchange(other.mutex_, nullptr)) {}
  /// Unlocks what it held, once it has taken over what `other` holds.
  async_mutex_lock& operator=(async_mutex_lock&& other) noexcept {
    async_mutex_lock replaced(static_cast<async_mutex_lock&&>(other));
    replaced.mutex_ = detail::exchange(mutex_, replaced.mutex_);
    return *this;
  }
  inline ~async_mutex_lock();

  /// Returns the mutex that it holds; null if it was moved from.
  [[nodiscard]] async_mutex* mutex() const noexcept { return mutex_; }

 private:
  friend class async_mutex;
  explicit async_mutex_lock(async_mutex* held) noexcept : mutex_(held) {}

  async_mutex* mutex_;
};

/// A mutex for coroutines: a contended lock suspends the coroutine, never the thread.
///
///     auto lock = co_await mutex.scoped_lock_async();
///     co_await log(frame);  // still exclusive; unlocks at the end of the scope
///
/// Prefer std::mutex if nothing is awaited while the lock is held. Not recursive: locking it again while
/// holding it is a deadlock, which no check can detect, since another coroutine may unlock it
/// (docs/when-it-hangs.md).
/// Order         first come, first served, with one bounded exception. A waiter on an executor is woken when
///               the lock becomes free, and takes it once it runs there; until then a coroutine that finds
///               the lock free takes it. At most 1024 coroutines overtake the first waiter, and at most four
///               of its attempts fail, without losing its place; then the lock is reserved for it. Outside
///               any executor the lock is always handed over.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside unlock(), on its
///               thread.
/// Cancellation  a stop request ends the wait; the lock goes to the next in the queue.
/// Exceptions    the await: operation_cancelled, without the lock. The members are noexcept.
/// Threads       all members are thread-safe; any thread may unlock.
/// Cost          24 bytes; no allocation; uncontended, one atomic operation to lock and one to unlock.
class async_mutex : detail::contended_lock<async_mutex> {
 public:
  async_mutex() noexcept = default;
  async_mutex(const async_mutex&) = delete;
  async_mutex& operator=(const async_mutex&) = delete;
  /// Requires: not held.
  ~async_mutex() {
    CORACLE_REQUIRE(state_.load(detail::memory_order_relaxed) == is_free,
                    "an async_mutex was destroyed while it was held: unlock it first");
  }

  class lock_operation;
  class scoped_lock_operation;

  /// Returns true if the caller now holds the lock and must unlock(). Never suspends.
  [[nodiscard("if it returns true the lock is held and must be unlocked")]] bool try_lock() noexcept {
    std::uintptr_t seen = is_free;
    if (state_.change(seen, is_held, detail::memory_order_acquire)) [[likely]] /*M1*/
      return true;
    return ((seen & state_.lock_bit) != 0 || may_be_taken(seen)) && try_lock_contended();
  }
  /// Awaitable of nothing: afterwards the lock is held and must be unlocked with unlock().
  lock_operation lock_async() noexcept;
  /// Awaitable of an async_mutex_lock.
  scoped_lock_operation scoped_lock_async() noexcept;
  void lock() = delete;  // not for std::lock_guard: const auto lock = co_await mutex.scoped_lock_async()
  /// Wakes the first waiter, if any, or hands it the lock. Requires: held.
  void unlock() noexcept;

 private:
  friend class async_condition_variable;
  friend async_mutex_lock;
  friend contended_lock;
  friend detail::contender<async_mutex>;
  using contender = detail::contender<async_mutex>;

  static constexpr bool may_be_taken(word seen) noexcept {
    return seen == is_free ||
           ((seen & (is_held | waiter_woken)) == waiter_woken && detail::overtaking::is_allowed(seen));
  }
  /// Requires: it may be taken.
  static constexpr word taken(word seen) noexcept {
    return seen == is_free ? is_held : (seen | is_held) + detail::overtaking::once;
  }
  // For contended_lock.
  detail::wait_queue& queue() noexcept { return state_.queue; }
  static constexpr word holders(word seen) noexcept { return seen & is_held; }
  static constexpr bool can_enter(word seen, const contender&) noexcept { return seen == is_free; }
  static constexpr bool may_wake(word) noexcept { return true; }
  static constexpr word with(word, const contender&) noexcept { return is_held; }
  static constexpr word waited_for(word seen) noexcept {
    return seen == is_held ? decltype(state_)::waited_for : seen;
  }
  CORACLE_SAVES_REGISTERS() bool try_lock_contended() noexcept {
    const std::uintptr_t seen = state_.lock();
    const bool takes = may_be_taken(seen);
    state_.unlock(takes ? taken(seen) : seen);
    return takes;
  }
  static constexpr bool is_unheld(word seen) noexcept {
    return seen == is_free || (seen & (is_held | waiter_woken)) == waiter_woken;
  }
  bool enqueue(contender& arriving) noexcept;
  bool wait(contender& arriving, std::uintptr_t seen) noexcept;
  bool withdraw(contender& waiting) noexcept;
  void lock_for(contender& suspended) noexcept;
  CORACLE_NOINLINE() void unlock_contended(std::uintptr_t seen) noexcept;
  CORACLE_NOINLINE() void unlock_queue() noexcept;

  // is_free: not held; is_held: held, no waiters; waited_for, or the address of the only waiter, which has no
  // executor: held, with waiters. With `waiter_woken`, `is_held` tells whether the mutex is held; for the
  // other bits see contended_lock. The lock of the word is not the lock that users hold. Without waiters the
  // queue may still hold waiters whose choice was lost.
  //   [M1] is_free -> is_held  acquire  see the last holder's writes   pairs with B2
  //   [M2] load                relaxed  a load before B3: a lone waiter is served without the lock
  //   [M3] load                relaxed  whether it is held: the caller of adopt() has locked it
  static constexpr word is_free = 0, is_held = 2, waiter_woken = detail::overtaking::waiter_woken;
  detail::waited_word<detail::exchanged_word<std::uintptr_t>> state_{is_free};
};

class [[nodiscard("a lock is not taken until this is awaited"), gnu::warn_unused]] async_mutex::lock_operation
    : public detail::stoppable_wait<lock_operation, contender> {
 public:
  explicit lock_operation(async_mutex& mutex) noexcept : mutex_(mutex) {}
  using stoppable_wait::try_at_once;
  void await_resume() { finish(); }

 protected:
  async_mutex& mutex_;

 private:
  friend stoppable_wait;
  bool try_now() noexcept { return mutex_.try_lock(); }
  bool enqueue() noexcept { return mutex_.enqueue(node()); }
  bool withdraw() noexcept { return mutex_.withdraw(node()); }
};
class [[nodiscard("a lock is not taken until this is awaited"),
        gnu::warn_unused]] async_mutex::scoped_lock_operation : public lock_operation {
 public:
  using lock_operation::lock_operation;
  async_mutex_lock await_resume() {
    finish();
    return async_mutex_lock{&mutex_};
  }
};

inline async_mutex_lock async_mutex_lock::adopt(async_mutex& held) noexcept {
  CORACLE_REQUIRE(
      !async_mutex::is_unheld(held.state_.load_unlocked(detail::memory_order_relaxed)), /*M3*/
      "adopt() of an async_mutex that is not held: lock it first, or co_await scoped_lock_async()");
  return async_mutex_lock{&held};
}
inline async_mutex_lock::~async_mutex_lock() {
  if (mutex_) mutex_->unlock();
}
inline async_mutex::lock_operation async_mutex::lock_async() noexcept { return lock_operation{*this}; }
inline async_mutex::scoped_lock_operation async_mutex::scoped_lock_async() noexcept {
  return scoped_lock_operation{*this};
}

inline void async_mutex::unlock() noexcept {
  const std::uintptr_t seen = state_.load(detail::memory_order_relaxed); /*M2*/
  if (seen != is_held || !state_.replace(is_held, is_free)) unlock_contended(seen);
}
}  // namespace coracle
