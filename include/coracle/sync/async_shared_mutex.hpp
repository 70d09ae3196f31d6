// coracle/sync/async_shared_mutex.hpp -- many readers or one writer, held across co_await; fair to writers.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace coracle {
class async_shared_mutex;

/// An exclusive lock; unlocks when it leaves scope.
class [[nodiscard("an unused lock unlocks at once: give it a name")]] async_shared_mutex_lock {
 public:
  /// Adopts an exclusive lock that the caller holds.
  explicit async_shared_mutex_lock(async_shared_mutex& held) noexcept : mutex_(&held) {}
  async_shared_mutex_lock(async_shared_mutex_lock&& other) noexcept
      : mutex_(std::exchange(other.mutex_, nullptr)) {}
  async_shared_mutex_lock& operator=(async_shared_mutex_lock&&) = delete;
  inline ~async_shared_mutex_lock();

 private:
  async_shared_mutex* mutex_;
};

/// A shared lock; unlocks when it leaves scope.
class [[nodiscard("an unused lock unlocks at once: give it a name")]] async_shared_mutex_shared_lock {
 public:
  /// Adopts a shared lock that the caller holds.
  explicit async_shared_mutex_shared_lock(async_shared_mutex& held) noexcept : mutex_(&held) {}
  async_shared_mutex_shared_lock(async_shared_mutex_shared_lock&& other) noexcept
      : mutex_(std::exchange(other.mutex_, nullptr)) {}
  async_shared_mutex_shared_lock& operator=(async_shared_mutex_shared_lock&&) = delete;
  inline ~async_shared_mutex_shared_lock();

 private:
  async_shared_mutex* mutex_;
};

/// A readers-writer lock: any number of readers, or one writer.
///
///     const auto shared = co_await mutex.scoped_lock_shared_async();  // shared with other readers
///     const auto lock = co_await mutex.scoped_lock_async();           // elsewhere: exclusive
///
/// Prefer async_mutex unless readers hold the lock for long: across an await, or during a search.
/// Order         first come, first served, writers and readers alike: nobody overtakes a waiter. Adjacent
///               readers in the queue enter together. A reader must not lock a second time: if a writer has
///               queued in between, that is a deadlock.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside unlock() or
///               unlock_shared(), on its thread.
/// Cancellation  a stop request ends the wait. Readers blocked only by a cancelled writer enter immediately.
/// Exceptions    the await: operation_cancelled, without the lock. The members are noexcept.
/// Threads       all members are thread-safe; any thread may unlock.
/// Cost          24 bytes; no allocation; without waiters, one atomic operation to lock and one to unlock.
class async_shared_mutex {
 public:
  async_shared_mutex() noexcept = default;
  async_shared_mutex(const async_shared_mutex&) = delete;
  async_shared_mutex& operator=(const async_shared_mutex&) = delete;
  /// Requires: not held.
  ~async_shared_mutex() {
    CORACLE_REQUIRE(state_.load(detail::memory_order_relaxed) == 0,
                    "an async_shared_mutex was destroyed while it was held: unlock it first");
  }

  enum entrant : std::uint64_t { one_writer = 4, one_reader = 8 };
  template <entrant Who, class Lock>
  class enter_operation;
  using lock_operation = enter_operation<one_writer, void>;
  using scoped_lock_operation = enter_operation<one_writer, async_shared_mutex_lock>;
  using lock_shared_operation = enter_operation<one_reader, void>;
  using scoped_lock_shared_operation = enter_operation<one_reader, async_shared_mutex_shared_lock>;

  /// Locks exclusively if possible. If it returns true, the caller must unlock(). Never suspends.
  [[nodiscard("if it returns true the lock is held and must be unlocked")]] bool try_lock() noexcept {
    return try_enter(one_writer);
  }
  /// Awaitable of nothing: locks exclusively; unlock with unlock().
  lock_operation lock_async() noexcept;
  /// Awaitable of an async_shared_mutex_lock.
  scoped_lock_operation scoped_lock_async() noexcept;
  /// Admits the first waiter and, if that is a reader, the readers directly behind it. Requires: held
  /// exclusively.
  void unlock() noexcept { leave(one_writer); }

  /// Locks shared if possible; fails also if a writer waits. If it returns true, the caller must
  /// unlock_shared(). Never suspends.
  [[nodiscard("if it returns true the lock is held and must be unlocked")]] bool try_lock_shared() noexcept {
    return try_enter(one_reader);
  }
  /// Awaitable of nothing: locks shared; unlock with unlock_shared().
  lock_shared_operation lock_shared_async() noexcept;
  /// Awaitable of an async_shared_mutex_shared_lock.
  scoped_lock_shared_operation scoped_lock_shared_async() noexcept;
  /// The last reader admits the first waiter. Requires: the caller holds a shared lock.
  void unlock_shared() noexcept { leave(one_reader); }

 private:
  /// A waiter, as a reader or a writer.
  struct request : detail::queued_waiter {
    using queued_waiter::queued_waiter;
    entrant who = one_reader;
  };

  static bool admits(std::uint64_t state, entrant who) noexcept {
    return who == one_writer ? state == 0 : (state & (queued | one_writer)) == 0;
  }
  bool try_enter(entrant who) noexcept;
  /// Called if the lock is held although the state admits the caller, and may still do so afterwards.
  CORACLE_SAVES_REGISTERS() bool try_enter_contended(entrant who) noexcept {
    const std::uint64_t seen = state_.lock();
    const bool enters = admits(seen, who);
    state_.unlock(enters ? seen + who : seen);
    return enters;
  }
  bool enqueue(request& arriving) noexcept;
  bool withdraw(request& waiting) noexcept;
  void leave(entrant who) noexcept;
  void leave_slowly(entrant who) noexcept;
  void let_waiters_in(std::uint64_t state) noexcept;

  // Readers in units of one_reader; one_writer; queued: queue_ has waiters. Nobody enters past `queued`,
  // which changes only under the lock. The thread that makes the first waiter admissible admits it.
  //   [S1] enter   acquire  see the writes of previous holders            pairs with S2, B2
  //   [S2] leave   release  publish the writes made inside              pairs with S1, B1
  static constexpr std::uint64_t queued = 2;
  // A leaving writer clears one_writer, and a leaving reader finds it clear; anything else is an unlock
  // without a lock.
  static constexpr std::uint64_t nobody_was_in = (std::uint64_t{1} << 63) | one_writer;
  detail::locked_word<std::uint64_t> state_{0};
  detail::wait_queue queue_;
};

template <async_shared_mutex::entrant Who, class Lock>
class [[nodiscard("a lock is not taken until this is awaited")]] async_shared_mutex::enter_operation
    : public detail::stoppable_wait<enter_operation<Who, Lock>, request> {
 public:
  explicit enter_operation(async_shared_mutex& wanted) noexcept : mutex_(wanted) {}
  Lock await_resume() {
    this->finish();
    if constexpr (!std::is_void_v<Lock>) return Lock{mutex_};
  }

 private:
  friend detail::stoppable_wait<enter_operation, request>;
  bool try_now() noexcept { return mutex_.try_enter(Who); }
  bool enqueue() noexcept {
    this->node().who = Who;
    return mutex_.enqueue(this->node());
  }
  bool withdraw() noexcept { return mutex_.withdraw(this->node()); }

  async_shared_mutex& mutex_;
};

inline async_shared_mutex_lock::~async_shared_mutex_lock() {
  if (mutex_) mutex_->unlock();
}
inline async_shared_mutex_shared_lock::~async_shared_mutex_shared_lock() {
  if (mutex_) mutex_->unlock_shared();
}
inline async_shared_mutex::lock_operation async_shared_mutex::lock_async() noexcept {
  return lock_operation{*this};
}
inline async_shared_mutex::scoped_lock_operation async_shared_mutex::scoped_lock_async() noexcept {
  return scoped_lock_operation{*this};
}
inline async_shared_mutex::lock_shared_operation async_shared_mutex::lock_shared_async() noexcept {
  return lock_shared_operation{*this};
}
inline async_shared_mutex::scoped_lock_shared_operation
async_shared_mutex::scoped_lock_shared_async() noexcept {
  return scoped_lock_shared_operation{*this};
}

inline bool async_shared_mutex::try_enter(entrant who) noexcept {
  std::uint64_t seen = state_.load(detail::memory_order_relaxed);
  while (admits(seen & ~state_.lock_bit, who)) {
    if ((seen & state_.lock_bit) != 0) return try_enter_contended(who);
    if (state_.change(seen, seen + who, detail::memory_order_acquire)) return true; /*S1*/
  }
  return false;
}

/// Returns false if it could enter after all, or if stop is requested.
inline bool async_shared_mutex::enqueue(request& arriving) noexcept {
  const std::uint64_t seen = state_.lock();
  if (admits(seen, arriving.who)) {
    state_.unlock(queue_.serve_at_once(arriving) ? seen + arriving.who : seen);
    return false;
  }
  const bool waits = queue_.push(arriving);
  state_.unlock(waits ? seen | queued : seen);
  return waits;
}

inline bool async_shared_mutex::withdraw(request& waiting) noexcept {
  const std::uint64_t seen = state_.lock();
  const bool waited = queue_.withdraw(waiting);
  let_waiters_in(seen);
  return waited;
}

inline void async_shared_mutex::leave(entrant who) noexcept {
  std::uint64_t seen = state_.load(detail::memory_order_relaxed);
  // One test, which includes states that no valid unlock leaves.
  while (((seen - who) & (state_.lock_bit | nobody_was_in)) == 0 && seen != (queued | who)) {
    if (state_.change(seen, seen - who, detail::memory_order_release)) return; /*S2*/
  }
  leave_slowly(who);
}
CORACLE_NOINLINE() inline void async_shared_mutex::leave_slowly(entrant who) noexcept {
  const std::uint64_t left = state_.lock() - who;
  CORACLE_REQUIRE(
      (left & nobody_was_in) == 0,
      who == one_writer
          ? "unlock() of an async_shared_mutex that no writer holds: readers call unlock_shared()"
          : "unlock_shared() of an async_shared_mutex that no reader holds: writers call unlock()");
  let_waiters_in(left);
}

/// Called with the lock held; releases it, and wakes the waiters that `state` admits. Touches nothing
/// afterwards.
CORACLE_NOINLINE() inline void async_shared_mutex::let_waiters_in(std::uint64_t state) noexcept {
  state &= ~queued;
  detail::wake_list entering;
  for (auto* each = static_cast<request*>(queue_.front()); each && (state & queued) == 0;) {
    request& next = *std::exchange(each, static_cast<request*>(each->next));
    if (next.is_lost()) continue;
    if (!admits(state, next.who)) {
      state |= queued;
    } else if (next.claim()) {
      queue_.take(next);
      state += next.who;
      entering.add(next);
    }
  }
  state_.unlock(state);
  entering.wake();
}
}  // namespace coracle
