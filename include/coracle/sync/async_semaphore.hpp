// coracle/sync/async_semaphore.hpp -- so many at a time.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/detail/intrusive_queue.hpp>
#include <coracle/detail/small_mutex.hpp>
#include <cstddef>
#include <utility>

namespace coracle {
class async_semaphore;

/// An acquired permit; gives it back when it leaves scope.
class [[nodiscard("an unused permit is given back at once: give it a name")]] async_semaphore_permit {
 public:
  /// Takes over a permit that the caller has acquired.
  explicit async_semaphore_permit(async_semaphore& acquired) noexcept : semaphore_(&acquired) {}
  async_semaphore_permit(async_semaphore_permit&& other) noexcept
      : semaphore_(std::exchange(other.semaphore_, nullptr)) {}
  async_semaphore_permit& operator=(async_semaphore_permit&&) = delete;
  inline ~async_semaphore_permit();

 private:
  async_semaphore* semaphore_;
};

/// A number of permits: a coroutine that wants one suspends until there is one.
///
///     coracle::async_semaphore connections{8};
///     const auto permit = co_await connections.scoped_acquire();
///     co_await fetch(url);  // in at most eight coroutines at once
///
/// Prefer async_mutex for a single permit that its holder gives back: it is smaller.
/// Order         first come, first served: a permit is handed over, never barged; none is lost.
/// Resumes on    the executor on which the waiter suspended; outside any, inside release(), on its thread.
/// Cancellation  a stop request does not end the wait.
/// Exceptions    none: every member is noexcept.
/// Threads       all members are thread-safe. The last waiter to be woken may destroy it.
/// Cost          32 bytes; no allocation; without waiters, one atomic operation to acquire, one to release.
class async_semaphore {
 public:
  /// Requires: permits >= 0.
  explicit async_semaphore(std::ptrdiff_t permits) noexcept : count_(permits) {
    CORACLE_CHECK(permits >= 0, "an async_semaphore cannot begin with less than no permits");
  }
  async_semaphore(const async_semaphore&) = delete;
  async_semaphore& operator=(const async_semaphore&) = delete;
  /// Requires: nobody waits.
  ~async_semaphore() {
    CORACLE_CHECK(count_.load(detail::memory_order_relaxed) >= 0,
                  "an async_semaphore was destroyed while coroutines wait for it");
  }

  /// True: the caller has a permit, for release() to give back. Never suspends.
  [[nodiscard("if it returns true there is a permit to release")]] bool try_acquire() noexcept;

  class acquire_operation;
  class scoped_acquire_operation;
  /// Awaitable of nothing: afterwards the caller has a permit.
  acquire_operation acquire() noexcept;
  /// Awaitable of an async_semaphore_permit.
  scoped_acquire_operation scoped_acquire() noexcept;
  /// Adds `n` permits: the first waiters get them, the rest is kept. Requires: n >= 0.
  void release(std::ptrdiff_t n = 1) noexcept;

 private:
  bool enqueue(waiter& self) noexcept;
  void hand_over(std::ptrdiff_t n) noexcept;

  // count_ is the number of free permits or, negative, of waiters that no release() has seen yet. A waiter
  // counts itself and goes into queue_ while it holds guard_. So a release() that has seen waiters finds as
  // many in queue_ once it has guard_; until then they wait, and the semaphore lives.
  //   [P1] take a permit          acquire  see what was written before its release()     pairs with P3
  //   [P2] take one, or count as  acquire  as P1; a waiter's fields and its permit are handed over under
  //        a waiter                        guard_                                        pairs with P3
  //   [P3] add permits            release  publish what was written before release()     pairs with P1, P2
  detail::atomic<std::ptrdiff_t> count_;
  detail::small_mutex guard_;
  detail::intrusive_queue<waiter> queue_;
};

class [[nodiscard("no permit is taken until this is awaited")]] async_semaphore::acquire_operation : waiter {
 public:
  explicit acquire_operation(async_semaphore& semaphore) noexcept : semaphore_(semaphore) {}
  bool await_ready() const noexcept { return semaphore_.try_acquire(); }
  CORACLE_NOINLINE_SUSPEND() bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspend(suspended);
    return semaphore_.enqueue(*this);
  }
  void await_resume() const noexcept {}

 protected:
  async_semaphore& semaphore_;
};
class [[nodiscard("no permit is taken until this is awaited")]] async_semaphore::scoped_acquire_operation
    : public acquire_operation {
 public:
  using acquire_operation::acquire_operation;
  async_semaphore_permit await_resume() const noexcept { return async_semaphore_permit{semaphore_}; }
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
  std::ptrdiff_t seen = count_.load(detail::memory_order_relaxed);
  while (seen > 0) {
    if (count_.compare_exchange_weak(seen, seen - 1, detail::memory_order_acquire, /*P1*/
                                     detail::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

/// False: there was a permit meanwhile.
inline bool async_semaphore::enqueue(waiter& self) noexcept {
  const detail::small_mutex_lock locked{guard_};
  if (count_.fetch_sub(1, detail::memory_order_acquire) > 0) return false; /*P2*/
  queue_.push(self);
  return true;
}

inline void async_semaphore::release(std::ptrdiff_t n) noexcept {
  CORACLE_CHECK(n >= 0, "release() of less than no permits of an async_semaphore");
  const std::ptrdiff_t seen = count_.fetch_add(n, detail::memory_order_release); /*P3*/
  if (seen < 0) hand_over(n < -seen ? n : -seen);
}

/// Wakes the first `n` waiters. Requires: there are as many.
inline void async_semaphore::hand_over(std::ptrdiff_t n) noexcept {
  detail::intrusive_queue<waiter> served;
  {
    const detail::small_mutex_lock locked{guard_};
    for (; n != 0; --n) served.push(queue_.pop());
  }
  detail::wake_all(served.front());
}
}  // namespace coracle
