// coracle/sync/async_shared_mutex.hpp -- many readers or one writer, held across co_await; fair to writers.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/detail/intrusive_queue.hpp>
#include <coracle/detail/small_mutex.hpp>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace coracle {
class async_shared_mutex;

/// A lock held alone; unlocks when it leaves scope.
class [[nodiscard("an unused lock unlocks at once: give it a name")]] async_shared_mutex_lock {
 public:
  /// Takes over a lock that the caller holds alone.
  explicit async_shared_mutex_lock(async_shared_mutex& held) noexcept : mutex_(&held) {}
  async_shared_mutex_lock(async_shared_mutex_lock&& other) noexcept
      : mutex_(std::exchange(other.mutex_, nullptr)) {}
  async_shared_mutex_lock& operator=(async_shared_mutex_lock&&) = delete;
  inline ~async_shared_mutex_lock();

 private:
  async_shared_mutex* mutex_;
};

/// A lock held together with other readers; gives up its share when it leaves scope.
class [[nodiscard("an unused lock unlocks at once: give it a name")]] async_shared_mutex_shared_lock {
 public:
  /// Takes over a share that the caller holds.
  explicit async_shared_mutex_shared_lock(async_shared_mutex& held) noexcept : mutex_(&held) {}
  async_shared_mutex_shared_lock(async_shared_mutex_shared_lock&& other) noexcept
      : mutex_(std::exchange(other.mutex_, nullptr)) {}
  async_shared_mutex_shared_lock& operator=(async_shared_mutex_shared_lock&&) = delete;
  inline ~async_shared_mutex_shared_lock();

 private:
  async_shared_mutex* mutex_;
};

/// Lets any number of coroutines read at a time, or one write.
///
///     const auto shared = co_await mutex.scoped_lock_shared_async();  // beside other readers
///     const auto lock = co_await mutex.scoped_lock_async();           // elsewhere: alone
///
/// Prefer async_mutex unless readers hold the lock for long: across an await, or while they search.
/// Order         first come, first served, writers and readers alike: who comes while somebody waits, waits
///               behind. Readers that stand in the queue side by side enter together. A reader must not ask
///               for a second share: if a writer has come in between, each waits for the other for ever.
/// Resumes on    the executor on which the waiter suspended; outside any, inside unlock() or unlock_shared(),
///               on its thread.
/// Cancellation  a stop request does not end the wait; the lock is never lost.
/// Exceptions    none: every member is noexcept.
/// Threads       all members are thread-safe; any thread may unlock.
/// Cost          32 bytes; no allocation; without waiters, one atomic operation to lock and one to unlock.
class async_shared_mutex {
 public:
  async_shared_mutex() noexcept = default;
  async_shared_mutex(const async_shared_mutex&) = delete;
  async_shared_mutex& operator=(const async_shared_mutex&) = delete;
  /// Requires: not held.
  ~async_shared_mutex() {
    CORACLE_CHECK(state_.load(detail::memory_order_relaxed) == 0,
                  "an async_shared_mutex was destroyed while it was held");
  }

  enum entrant : std::uint64_t { one_reader = 1, one_writer = std::uint64_t{1} << 62 };
  template <entrant Who, class Lock>
  class enter_operation;
  using lock_operation = enter_operation<one_writer, void>;
  using scoped_lock_operation = enter_operation<one_writer, async_shared_mutex_lock>;
  using lock_shared_operation = enter_operation<one_reader, void>;
  using scoped_lock_shared_operation = enter_operation<one_reader, async_shared_mutex_shared_lock>;

  /// True: held by the caller alone, who must unlock(). Never suspends.
  [[nodiscard("if it returns true the lock is held and must be unlocked")]] bool try_lock() noexcept {
    return try_enter(one_writer);
  }
  /// Awaitable of nothing: afterwards the lock is held alone and must be unlocked with unlock().
  lock_operation lock_async() noexcept;
  /// Awaitable of an async_shared_mutex_lock.
  scoped_lock_operation scoped_lock_async() noexcept;
  /// Lets the first waiter in, and if that is a reader, the readers behind it. Requires: held alone.
  void unlock() noexcept {
    CORACLE_CHECK((state_.load(detail::memory_order_relaxed) & one_writer) != 0,
                  "unlock() of an async_shared_mutex that no writer holds");
    leave(one_writer);
  }

  /// True: the caller has a share, and must unlock_shared(). False also where a writer waits. Never suspends.
  [[nodiscard("if it returns true the lock is held and must be unlocked")]] bool try_lock_shared() noexcept {
    return try_enter(one_reader);
  }
  /// Awaitable of nothing: afterwards the caller has a share, to be given up with unlock_shared().
  lock_shared_operation lock_shared_async() noexcept;
  /// Awaitable of an async_shared_mutex_shared_lock.
  scoped_lock_shared_operation scoped_lock_shared_async() noexcept;
  /// The last reader lets the first waiter in. Requires: the caller holds a share.
  void unlock_shared() noexcept {
    CORACLE_CHECK((state_.load(detail::memory_order_relaxed) & (one_writer - 1)) != 0,
                  "unlock_shared() of an async_shared_mutex that no reader holds");
    leave(one_reader);
  }

 private:
  // state_ counts readers, and has a bit for the writer and one, `queued`, for "somebody is in queue_".
  // Nobody enters past `queued`; who leaves and finds that only it is left lets the first waiters in, and
  // until it has done so nobody else changes state_. guard_ protects queue_ and the setting of `queued`.
  //   [S1] enter          acquire  see the writes of those who left                     pairs with S2, S4
  //   [S2] leave          acq_rel  publish this holder's writes; as the last one, see those of all who left
  //                                before, for the waiters that it lets in              pairs with S1, S2
  //   [S3] set `queued`   relaxed  the waiter's fields are handed over under guard_
  //   [S4] let waiters    release  publish the writes of those who left for readers     pairs with S1
  //        in                      that join later
  static constexpr std::uint64_t queued = std::uint64_t{1} << 63;
  struct request;

  static bool admits(std::uint64_t state, entrant who) noexcept {
    return who == one_writer ? state == 0 : state < one_writer;
  }
  bool try_enter(entrant who) noexcept;
  bool enqueue(request& self) noexcept;
  void leave(entrant who) noexcept {
    const std::uint64_t seen = state_.fetch_sub(who, detail::memory_order_acq_rel); /*S2*/
    if (seen == (queued | who)) let_waiters_in();
  }
  void let_waiters_in() noexcept;

  detail::atomic<std::uint64_t> state_{0};
  detail::small_mutex guard_;
  detail::intrusive_queue<request> queue_;
};

struct async_shared_mutex::request : waiter {
  request(async_shared_mutex& wanted, entrant wants_in) noexcept : mutex(wanted), who(wants_in) {}
  async_shared_mutex& mutex;
  const entrant who;
};

template <async_shared_mutex::entrant Who, class Lock>
class [[nodiscard("a lock is not taken until this is awaited")]] async_shared_mutex::enter_operation
    : request {
 public:
  explicit enter_operation(async_shared_mutex& wanted) noexcept : request(wanted, Who) {}
  bool await_ready() const noexcept { return mutex.try_enter(Who); }
  CORACLE_NOINLINE_SUSPEND() bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspend(suspended);
    return mutex.enqueue(*this);
  }
  Lock await_resume() const noexcept {
    if constexpr (!std::is_void_v<Lock>) return Lock{mutex};
  }
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
  while (admits(seen, who)) {
    if (state_.compare_exchange_weak(seen, seen + who, detail::memory_order_acquire, /*S1*/
                                     detail::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

/// False: it could enter after all.
inline bool async_shared_mutex::enqueue(request& self) noexcept {
  const detail::small_mutex_lock locked{guard_};
  std::uint64_t seen = state_.load(detail::memory_order_relaxed);
  for (;;) {
    if (admits(seen, self.who)) {
      if (state_.compare_exchange_weak(seen, seen + self.who, detail::memory_order_acquire, /*S1*/
                                       detail::memory_order_relaxed)) {
        return false;
      }
    } else if ((seen & queued) != 0 ||
               state_.compare_exchange_weak(seen, seen | queued, detail::memory_order_relaxed)) { /*S3*/
      queue_.push(self);
      return true;
    }
  }
}

inline void async_shared_mutex::let_waiters_in() noexcept {
  detail::intrusive_queue<request> entering;
  {
    const detail::small_mutex_lock locked{guard_};
    std::uint64_t state = 0;
    do {
      request& next = queue_.pop();
      entering.push(next);
      state += next.who;
    } while (!queue_.empty() && admits(state, queue_.front()->who));
    if (!queue_.empty()) state |= queued;
    state_.store(state, detail::memory_order_release); /*S4*/
  }
  detail::wake_all(entering.front());
}
}  // namespace coracle
