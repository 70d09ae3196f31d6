// coracle/sync/async_mutex.hpp -- exclusive access that may be held across co_await.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/detail/atomic.hpp>
#include <cstdint>

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
/// Prefer std::mutex when nothing is awaited while the lock is held.
/// Order         first come, first served: the lock is handed over, never barged.
/// Resumes on    the executor on which the waiter suspended; outside any, inside unlock(), on its thread.
/// Cancellation  a stop request does not end the wait; the lock is never lost.
/// Exceptions    none: every member is noexcept.
/// Threads       all members are thread-safe; any thread may unlock.
/// Cost          16 bytes; no allocation; uncontended, one atomic operation to lock and one to unlock.
class async_mutex {
 public:
  async_mutex() noexcept = default;
  async_mutex(const async_mutex&) = delete;
  async_mutex& operator=(const async_mutex&) = delete;
  /// Requires: not held.
  ~async_mutex() {
    CORACLE_CHECK(state_.load(detail::memory_order_relaxed) == unlocked,
                  "an async_mutex was destroyed while it was held");
  }

  class lock_operation;
  class scoped_lock_operation;

  /// True: held by the caller, who must unlock(). Never suspends.
  [[nodiscard("if it returns true the lock is held and must be unlocked")]] bool try_lock() noexcept {
    std::uintptr_t expected = unlocked;
    return state_.compare_exchange_strong(expected, locked, detail::memory_order_acquire, /*M1*/
                                          detail::memory_order_relaxed);
  }
  /// Awaitable of nothing: afterwards the lock is held and must be unlocked with unlock().
  lock_operation lock_async() noexcept;
  /// Awaitable of an async_mutex_lock.
  scoped_lock_operation scoped_lock_async() noexcept;
  /// Hands the lock to the first waiter, if any. Requires: held.
  void unlock() noexcept;

 private:
  friend class async_condition_variable;
  bool enqueue(waiter& self) noexcept;
  void lock_for(waiter& suspended) noexcept;

  // state_ is unlocked, locked with no new waiters, or the newest of a stack of waiters that ends in null.
  // queue_ belongs to the holder: waiters taken from the stack earlier, oldest first. What a holder wrote,
  // queue_ included, reaches the next one through M2/M1, or through the wake-up of the waiter.
  //   [M1] unlocked -> locked  acquire  see the last holder's writes             pairs with M2
  //   [M2] locked -> unlocked  release  publish this holder's writes             pairs with M1
  //   [M3] push a waiter       release  publish its fields                       pairs with M4
  //   [M4] take the stack      acquire  read those fields                        pairs with M3
  static constexpr std::uintptr_t locked = 0, unlocked = 1;
  detail::atomic<std::uintptr_t> state_{unlocked};
  detail::plain<waiter*> queue_ = nullptr;
};

class [[nodiscard("a lock is not taken until this is awaited")]] async_mutex::lock_operation : waiter {
 public:
  explicit lock_operation(async_mutex& mutex) noexcept : mutex_(mutex) {}
  bool await_ready() const noexcept { return mutex_.try_lock(); }
  CORACLE_NOINLINE_SUSPEND() bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspend(suspended);
    return mutex_.enqueue(*this);
  }
  void await_resume() const noexcept {}

 protected:
  async_mutex& mutex_;

 private:
  friend async_mutex;
};
class [[nodiscard("a lock is not taken until this is awaited")]] async_mutex::scoped_lock_operation
    : public lock_operation {
 public:
  using lock_operation::lock_operation;
  async_mutex_lock await_resume() const noexcept { return async_mutex_lock{mutex_}; }
};

inline async_mutex_lock::~async_mutex_lock() {
  if (mutex_) mutex_->unlock();
}
inline async_mutex::lock_operation async_mutex::lock_async() noexcept { return lock_operation{*this}; }
inline async_mutex::scoped_lock_operation async_mutex::scoped_lock_async() noexcept {
  return scoped_lock_operation{*this};
}

/// False: it took the lock instead.
inline bool async_mutex::enqueue(waiter& self) noexcept {
  std::uintptr_t seen = state_.load(detail::memory_order_relaxed);
  for (;;) {
    if (seen == unlocked) {
      if (state_.compare_exchange_weak(seen, locked, detail::memory_order_acquire, /*M1*/
                                       detail::memory_order_relaxed)) {
        return false;
      }
    } else {
      self.next = reinterpret_cast<waiter*>(seen);
      if (state_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(&self),
                                       detail::memory_order_release, /*M3*/
                                       detail::memory_order_relaxed)) {
        return true;
      }
    }
  }
}

/// Wakes a coroutine once it has the lock: now, or when its turn comes.
inline void async_mutex::lock_for(waiter& suspended) noexcept {
  if (!enqueue(suspended)) suspended.wake();
}

inline void async_mutex::unlock() noexcept {
  CORACLE_CHECK(state_.load(detail::memory_order_relaxed) != unlocked,
                "unlock() of an async_mutex that is not held");
  if (!queue_) {
    std::uintptr_t seen = locked;
    if (state_.compare_exchange_strong(seen, unlocked, detail::memory_order_release, /*M2*/
                                       detail::memory_order_relaxed)) {
      return;
    }
    seen = state_.exchange(locked, detail::memory_order_acquire); /*M4*/
    queue_ = detail::oldest_first(reinterpret_cast<waiter*>(seen));
  }
  waiter* const next_holder = queue_;
  queue_ = static_cast<waiter*>(next_holder->next);
  next_holder->wake();
}
}  // namespace coracle
