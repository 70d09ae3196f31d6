// coracle/sync/async_shared_mutex.hpp -- many readers or one writer, held across co_await; fair to writers.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/base/locked_word.hpp>
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <coracle/sync/detail/contended_lock.hpp>
#include <cstdint>
#include <type_traits>

namespace coracle {
class async_shared_mutex;

/// An exclusive lock; unlocks when it leaves scope.
class [[nodiscard("an unused lock unlocks at once: give it a name")]] async_shared_mutex_lock {
 public:
  async_shared_mutex_lock(async_shared_mutex&) = delete;  // co_await mutex.scoped_lock_async()
  /// Adopts an exclusive lock that the caller holds, as after try_lock(). Requires: held exclusively.
  static inline async_shared_mutex_lock adopt(async_shared_mutex& held) noexcept;
  async_shared_mutex_lock(async_shared_mutex_lock&& other) noexcept
      : mutex_(detail::exchange(other.mutex_, nullptr)) {}
  /// Unlocks what it held, once it has taken over what `other` holds.
  async_shared_mutex_lock& operator=(async_shared_mutex_lock&& other) noexcept {
    async_shared_mutex_lock replaced(static_cast<async_shared_mutex_lock&&>(other));
    replaced.mutex_ = detail::exchange(mutex_, replaced.mutex_);
    return *this;
  }
  inline ~async_shared_mutex_lock();

 private:
  friend class async_shared_mutex;
  explicit async_shared_mutex_lock(async_shared_mutex* held) noexcept : mutex_(held) {}

  async_shared_mutex* mutex_;
};

/// A shared lock; unlocks when it leaves scope.
class [[nodiscard("an unused lock unlocks at once: give it a name")]] async_shared_mutex_shared_lock {
 public:
  async_shared_mutex_shared_lock(async_shared_mutex&) = delete;  // co_await mutex.scoped_lock_shared_async()
  /// Adopts a shared lock that the caller holds, as after try_lock_shared(). Requires: held by a reader.
  static inline async_shared_mutex_shared_lock adopt(async_shared_mutex& held) noexcept;
  async_shared_mutex_shared_lock(async_shared_mutex_shared_lock&& other) noexcept
      : mutex_(detail::exchange(other.mutex_, nullptr)) {}
  /// Unlocks what it held, once it has taken over what `other` holds.
  async_shared_mutex_shared_lock& operator=(async_shared_mutex_shared_lock&& other) noexcept {
    async_shared_mutex_shared_lock replaced(static_cast<async_shared_mutex_shared_lock&&>(other));
    replaced.mutex_ = detail::exchange(mutex_, replaced.mutex_);
    return *this;
  }
  inline ~async_shared_mutex_shared_lock();

 private:
  friend class async_shared_mutex;
  explicit async_shared_mutex_shared_lock(async_shared_mutex* held) noexcept : mutex_(held) {}

  async_shared_mutex* mutex_;
};

/// A readers-writer lock: any number of readers, or one writer.
///
///     const auto shared = co_await mutex.scoped_lock_shared_async();  // shared with other readers
///     const auto lock = co_await mutex.scoped_lock_async();           // elsewhere: exclusive
///
/// Prefer async_mutex unless readers hold the lock for long: across an await, or during a search.
/// Order         first come, first served, writers and readers alike, with the bounded exception of
///               async_mutex: a free lock is not held for a waiter while that is in its executor's queue. At
///               most 1024 coroutines overtake the first waiter, and at most four of its attempts fail,
///               without losing its place; then the lock is reserved for it. Adjacent readers in the queue
///               enter together. A reader must not lock a second time: if a writer has queued in between,
///               that is a deadlock.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside unlock() or
///               unlock_shared(), on its thread.
/// Cancellation  a stop request ends the wait. Readers blocked only by a cancelled writer enter immediately.
/// Exceptions    the await: operation_cancelled, without the lock. The members are noexcept.
/// Threads       all members are thread-safe; any thread may unlock.
/// Cost          24 bytes; no allocation; without waiters, one atomic operation to lock and one to unlock.
class async_shared_mutex : detail::contended_lock<async_shared_mutex> {
 public:
  async_shared_mutex() noexcept = default;
  async_shared_mutex(const async_shared_mutex&) = delete;
  async_shared_mutex& operator=(const async_shared_mutex&) = delete;
  /// Requires: not held.
  ~async_shared_mutex() {
    CORACLE_REQUIRE(state_.load(detail::memory_order_relaxed) == 0,
                    "an async_shared_mutex was destroyed while it was held: unlock it first");
  }

  enum entrant : std::uint64_t {
    one_writer = detail::overtaking::free_for_others,
    one_reader = 2 * one_writer
  };
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
  /// Wakes the first waiter; if that is a reader, it admits the readers directly behind it. Requires: held
  /// exclusively.
  void unlock() noexcept { leave(one_writer); }
  void lock() = delete;  // not for std::lock_guard: const auto lock = co_await mutex.scoped_lock_async()
  void lock_shared() = delete;  // for a reader: const auto lock = co_await mutex.scoped_lock_shared_async()

  /// Locks shared if possible; fails also if the lock is reserved for a waiter. If it returns true, the
  /// caller must unlock_shared(). Never suspends.
  [[nodiscard("if it returns true the lock is held and must be unlocked")]] bool try_lock_shared() noexcept {
    return try_enter(one_reader);
  }
  /// Awaitable of nothing: locks shared; unlock with unlock_shared().
  lock_shared_operation lock_shared_async() noexcept;
  /// Awaitable of an async_shared_mutex_shared_lock.
  scoped_lock_shared_operation scoped_lock_shared_async() noexcept;
  /// The last reader wakes the first waiter. Requires: the caller holds a shared lock.
  void unlock_shared() noexcept { leave(one_reader); }

 private:
  friend async_shared_mutex_lock;
  friend async_shared_mutex_shared_lock;
  friend contended_lock;
  friend detail::contender<async_shared_mutex>;
  using contender = detail::contender<async_shared_mutex>;
  /// A waiter, as a reader or a writer.
  struct request : contender {
    using contender::contender;
    entrant who = one_reader;
  };

  static constexpr bool is_free_for(word seen, entrant who) noexcept {
    return who == one_writer ? seen < one_writer : (seen & one_writer) == 0;
  }
  static constexpr bool admits(word seen, entrant who) noexcept {
    const bool is_reserved =
        (seen & waiter_woken) == 0 ? (seen & queued) != 0 : !detail::overtaking::is_allowed(seen);
    return is_free_for(seen, who) && !is_reserved;
  }
  /// Requires: it admits `who`.
  static constexpr word entered(word seen, entrant who) noexcept {
    return seen + who + ((seen & waiter_woken) != 0 ? detail::overtaking::once : 0);
  }
  // For contended_lock.
  detail::wait_queue& queue() noexcept { return queue_; }
  static constexpr word holders(word seen) noexcept { return seen & ~(word{one_writer} - 1); }
  static bool can_enter(word seen, const contender& first) noexcept {
    return (seen & waiter_woken) == 0 && is_free_for(seen, static_cast<const request&>(first).who);
  }
  static constexpr bool may_wake(word seen) noexcept { return seen < one_writer; }
  static word with(word seen, const contender& first) noexcept {
    return seen + static_cast<const request&>(first).who;
  }
  static constexpr word waited_for(word seen) noexcept { return seen | queued; }

  bool try_enter(entrant who) noexcept;
  /// Called if the lock is held although the state admits the caller, and may still do so afterwards.
  CORACLE_SAVES_REGISTERS() bool try_enter_contended(entrant who) noexcept {
    const word seen = state_.lock();
    const bool enters = admits(seen, who);
    state_.unlock(enters ? entered(seen, who) : seen);
    return enters;
  }
  bool enqueue(request& arriving) noexcept;
  bool withdraw(request& waiting) noexcept;
  void leave(entrant who) noexcept;
  void leave_slowly(entrant who) noexcept;

  // Readers in units of one_reader; one_writer; queued: queue_ has waiters; waiter_woken: see
  // contended_lock. While there is `queued`, nobody enters unless a waiter was woken. These two change only
  // under the lock. The thread that makes the first waiter admissible wakes or admits it.
  //   [S1] enter   acquire  see the writes of previous holders            pairs with S2, B2
  //   [S2] leave   release  publish the writes made inside              pairs with S1, B1
  //   [S3] load    relaxed  whether it is held: the caller of adopt() has locked it
  static constexpr word queued = 2, waiter_woken = detail::overtaking::waiter_woken;
  // A leaving writer clears one_writer, and a leaving reader finds it clear; anything else is an unlock
  // without a lock.
  static constexpr word nobody_was_in = (word{1} << 63) | one_writer;
  detail::locked_word<word> state_{0};
  detail::wait_queue queue_;
};

template <async_shared_mutex::entrant Who, class Lock>
class [[nodiscard("a lock is not taken until this is awaited"),
        gnu::warn_unused]] async_shared_mutex::enter_operation
    : public detail::stoppable_wait<enter_operation<Who, Lock>, request> {
 public:
  explicit enter_operation(async_shared_mutex& wanted) noexcept : mutex_(wanted) {}
  Lock await_resume() {
    this->finish();
    if constexpr (!std::is_void_v<Lock>) return Lock{&mutex_};
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

inline async_shared_mutex_lock async_shared_mutex_lock::adopt(async_shared_mutex& held) noexcept {
  CORACLE_REQUIRE(
      (held.state_.load(detail::memory_order_relaxed) & async_shared_mutex::one_writer) != 0, /*S3*/
      "adopt() of an async_shared_mutex that no writer holds: lock it first, or co_await "
      "scoped_lock_async()");
  return async_shared_mutex_lock{&held};
}
inline async_shared_mutex_lock::~async_shared_mutex_lock() {
  if (mutex_) mutex_->unlock();
}
inline async_shared_mutex_shared_lock async_shared_mutex_shared_lock::adopt(
    async_shared_mutex& held) noexcept {
  CORACLE_REQUIRE(held.state_.load(detail::memory_order_relaxed) >= async_shared_mutex::one_reader, /*S3*/
                  "adopt() of an async_shared_mutex that no reader holds: lock it first, or co_await "
                  "scoped_lock_shared_async()");
  return async_shared_mutex_shared_lock{&held};
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
  word seen = state_.load(detail::memory_order_relaxed);
  while (admits(seen & ~state_.lock_bit, who)) {
    if ((seen & state_.lock_bit) != 0) return try_enter_contended(who);
    if (state_.change(seen, entered(seen, who), detail::memory_order_acquire)) return true; /*S1*/
  }
  return false;
}

/// Returns false if it could enter after all, or if stop is requested.
inline bool async_shared_mutex::enqueue(request& arriving) noexcept {
  const word seen = state_.lock();
  if (admits(seen, arriving.who)) {
    state_.unlock(queue_.serve_at_once(arriving) ? entered(seen, arriving.who) : seen);
    return false;
  }
  const bool waits = queue_.push(arriving);
  state_.unlock(waits ? seen | queued : seen);
  return waits;
}

inline bool async_shared_mutex::withdraw(request& waiting) noexcept {
  const word seen = state_.lock();
  const bool must_wake = cancel(waiting);
  let_in(seen & ~queued);
  return must_wake;
}

inline void async_shared_mutex::leave(entrant who) noexcept {
  word seen = state_.load(detail::memory_order_relaxed);
  // One test, which includes states that no valid unlock leaves.
  while (((seen - who) & (state_.lock_bit | nobody_was_in)) == 0 && seen != (queued | who)) {
    if (state_.change(seen, seen - who, detail::memory_order_release)) return; /*S2*/
  }
  leave_slowly(who);
}
CORACLE_NOINLINE() inline void async_shared_mutex::leave_slowly(entrant who) noexcept {
  const word left = state_.lock() - who;
  CORACLE_REQUIRE(
      (left & nobody_was_in) == 0,
      who == one_writer
          ? "unlock() of an async_shared_mutex that no writer holds: readers call unlock_shared()"
          : "unlock_shared() of an async_shared_mutex that no reader holds: writers call unlock()");
  let_in(left & ~queued);
}
}  // namespace coracle
