// coracle/sync/async_mutex.hpp -- exclusive access that may be held across co_await.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/waited_word.hpp>
#include <cstdint>
#include <utility>

namespace coracle {
class async_mutex;

/// A held lock; unlocks when it leaves scope.
class [[nodiscard("an unused lock unlocks at once: give it a name")]] async_mutex_lock {
 public:
  /// Takes over a lock that the caller holds.
  explicit async_mutex_lock(async_mutex& held) noexcept : mutex_(&held) {}
  async_mutex_lock(async_mutex_lock&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
  async_mutex_lock& operator=(async_mutex_lock&&) = delete;
  inline ~async_mutex_lock();

  /// The mutex that it holds; null if it was moved from.
  [[nodiscard]] async_mutex* mutex() const noexcept { return mutex_; }

 private:
  async_mutex* mutex_;
};

/// Excludes other coroutines: a contended lock suspends the coroutine, never the thread.
///
///     auto lock = co_await mutex.scoped_lock_async();
///     co_await log(frame);  // still exclusive; unlocks at the end of the scope
///
/// Prefer std::mutex when nothing is awaited while the lock is held. It is not recursive: who locks it again while holding
/// it waits for itself, and nothing can tell, since another may unlock on its behalf (docs/when-it-hangs.md).
/// Order         first come, first served: the lock is handed over, never barged.
/// Resumes on    the executor on which the waiter suspended; outside any, inside unlock(), on its thread.
/// Cancellation  a stop request ends the wait; the lock goes to the next in the queue.
/// Exceptions    the await: operation_cancelled, without the lock. The members are noexcept.
/// Threads       all members are thread-safe; any thread may unlock.
/// Cost          24 bytes; no allocation; uncontended, one atomic operation to lock and one to unlock.
class async_mutex {
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

  /// True: held by the caller, who must unlock(). Never suspends.
  [[nodiscard("if it returns true the lock is held and must be unlocked")]] bool try_lock() noexcept {
    std::uintptr_t seen = is_free;
    while (!state_.change(seen, is_held, detail::memory_order_acquire)) { /*M1*/
      if ((seen & state_.lock_bit) != 0) return try_lock_contended();
      if (seen != is_free) return false;
    }
    return true;
  }
  /// Awaitable of nothing: afterwards the lock is held and must be unlocked with unlock().
  lock_operation lock_async() noexcept;
  /// Awaitable of an async_mutex_lock.
  scoped_lock_operation scoped_lock_async() noexcept;
  /// Hands the lock to the first waiter, if any. Requires: held.
  void unlock() noexcept;

 private:
  friend class async_condition_variable;
  /// For when somebody holds the word over a free mutex, who may take it, or not if stop is requested.
  CORACLE_SAVES_REGISTERS() bool try_lock_contended() noexcept {
    const std::uintptr_t seen = state_.lock();
    state_.unlock(seen == is_free ? is_held : seen);
    return seen == is_free;
  }
  bool enqueue(detail::queued_waiter& arriving) noexcept;
  bool withdraw(detail::queued_waiter& waiting) noexcept;
  void lock_for(detail::queued_waiter& suspended) noexcept;
  void hand_over() noexcept;
  void hand_over_to_first() noexcept;

  // is_free: nobody holds it; is_held: nobody waits; waited_for, or who waits alone: held, and somebody waits. The lock of
  // the word is not the one that users hold. Where nobody waits the queue may still hold lost waiters.
  //   [M1] is_free -> is_held  acquire  see the last holder's writes   pairs with B2
  //   [M2] load                relaxed  a look before B3: who waits alone is served without the lock
  static constexpr std::uintptr_t is_free = 0, is_held = 2;
  detail::waited_word<detail::exchanged_word<std::uintptr_t>> state_{is_free};
};

class [[nodiscard("a lock is not taken until this is awaited")]] async_mutex::lock_operation
    : public detail::stoppable_wait<lock_operation> {
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
class [[nodiscard("a lock is not taken until this is awaited")]] async_mutex::scoped_lock_operation
    : public lock_operation {
 public:
  using lock_operation::lock_operation;
  async_mutex_lock await_resume() {
    finish();
    return async_mutex_lock{mutex_};
  }
};

inline async_mutex_lock::~async_mutex_lock() {
  if (mutex_) mutex_->unlock();
}
inline async_mutex::lock_operation async_mutex::lock_async() noexcept { return lock_operation{*this}; }
inline async_mutex::scoped_lock_operation async_mutex::scoped_lock_async() noexcept {
  return scoped_lock_operation{*this};
}

/// False: it took the lock instead, or stop is requested.
inline bool async_mutex::enqueue(detail::queued_waiter& arriving) noexcept {
  const std::uintptr_t seen = state_.lock();
  if (seen == is_free) {
    state_.unlock(state_.queue.serve_at_once(arriving) ? is_held : is_free);
    return false;
  }
  return state_.wait(arriving, seen, is_held);
}

inline bool async_mutex::withdraw(detail::queued_waiter& waiting) noexcept {
  return state_.withdraw(waiting, is_held);
}

/// Wakes a coroutine once it has the lock: now, or when its turn comes. It cannot be cancelled meanwhile.
inline void async_mutex::lock_for(detail::queued_waiter& suspended) noexcept {
  if (!enqueue(suspended)) suspended.wake();
}

inline void async_mutex::unlock() noexcept {
  const std::uintptr_t seen = state_.load(detail::memory_order_relaxed); /*M2*/
  const auto nobody_waits = [](std::uintptr_t word) { return word == is_held; };
  if (!nobody_waits(seen) || !state_.change_if(nobody_waits, is_free)) hand_over();
}

CORACLE_NOINLINE() inline void async_mutex::hand_over() noexcept {
  waiter* const only = state_.take_alone(is_held);
  only ? only->wake() : hand_over_to_first();
}
CORACLE_NOINLINE() inline void async_mutex::hand_over_to_first() noexcept {
  const std::uintptr_t seen = state_.lock_queue();
  CORACLE_REQUIRE(seen != is_free,
                  "unlock() of an async_mutex that is not held: lock it first, and unlock it once");
  waiter* const next_holder = state_.queue.claim();
  const std::uintptr_t held = state_.queue.empty() ? is_held : state_.waited_for;
  state_.unlock(next_holder ? held : is_free);
  if (next_holder) next_holder->wake();
}
}  // namespace coracle
