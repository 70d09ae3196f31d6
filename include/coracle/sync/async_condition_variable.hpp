// coracle/sync/async_condition_variable.hpp -- wait, under a lock, until something has changed.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/core/callback_frame.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/detail/intrusive_queue.hpp>
#include <coracle/detail/small_mutex.hpp>
#include <coracle/sync/async_mutex.hpp>

namespace coracle {
/// Gives up a lock while waiting to be notified, and has it again afterwards.
///
///     auto lock = co_await mutex.scoped_lock_async();
///     const auto filled = [&] { return !queue.empty(); };
///     co_await changed.wait(lock, filled);  // elsewhere: queue.push(item); changed.notify_one();
///
/// Prefer an event where all that waiters ask is whether something has happened.
/// Order         the first to wait is notified first. Notified waiters join the queue for the lock, still
///               asleep: notify_all() starts no race for it.
/// Resumes on    the executor on which the waiter suspended, with the lock held; outside any, inside the
///               unlock() that hands it the lock, or inside notify if the lock is free.
/// Cancellation  a stop request does not end the wait.
/// Exceptions    those of the predicate, with the lock held; else none.
/// Threads       all members are thread-safe; notify with or without the lock held. No spurious wake-ups.
///               A notified waiter may destroy it if nobody else waits.
/// Cost          24 bytes; no allocation; one load to notify where nobody waits.
class async_condition_variable {
 public:
  async_condition_variable() noexcept = default;
  async_condition_variable(const async_condition_variable&) = delete;
  async_condition_variable& operator=(const async_condition_variable&) = delete;
  /// Requires: nobody waits.
  ~async_condition_variable() {
    CORACLE_CHECK(queue_.empty(), "an async_condition_variable was destroyed while coroutines wait for it");
  }

  class wait_operation;
  template <std::predicate Predicate>
  class wait_until_operation;

  /// Awaitable of nothing: unlocks, waits for a notification, and locks again. It counts as waiting before it
  /// unlocks, so none is missed in between. Waiters may use different mutexes.
  /// Requires: `lock` was not moved from.
  wait_operation wait(async_mutex_lock& lock) noexcept;
  /// Waits again and again until `holds()`, which is called with the lock held, where the awaiting coroutine
  /// runs: first before it waits, then after each notification.
  template <std::predicate Predicate>
  wait_until_operation<Predicate> wait(async_mutex_lock& lock, Predicate holds) noexcept(
      std::is_nothrow_move_constructible_v<Predicate>);

  /// Lets the first waiter go on. No effect if there is none.
  void notify_one() noexcept;
  /// Lets all who wait now go on.
  void notify_all() noexcept;

 private:
  struct waiting : waiter {
    waiting(async_condition_variable& waited_for, async_mutex_lock& lock) noexcept
        : changed(waited_for), mutex(lock.mutex()) {
      CORACLE_CHECK(mutex, "wait() of an async_condition_variable with a lock that was moved from");
    }
    async_condition_variable& changed;
    async_mutex* const mutex;
  };
  static void unlock_and_wait(waiting& self) noexcept;

  // guard_ protects queue_; waited_for_ says whether it has entries, and is changed under guard_ too.
  // A notifier that changed something under the lock did so before the waiter looked at it, or after [C1], of
  // which it then learned through the lock. So neither access needs an order of its own.
  //   [C1] note whether somebody waits  relaxed  seen through the lock of the mutex
  //   [C2] does somebody wait?          relaxed  the fields of the waiters are handed over under guard_
  detail::small_mutex guard_;
  detail::atomic<bool> waited_for_{false};
  detail::intrusive_queue<waiting> queue_;
};

class [[nodiscard("a wait does nothing until it is awaited")]] async_condition_variable::wait_operation
    : waiting {
 public:
  using waiting::waiting;
  bool await_ready() const noexcept { return false; }
  CORACLE_NOINLINE_SUSPEND() void await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspend(suspended);
    unlock_and_wait(*this);
  }
  void await_resume() const noexcept {}
};

/// Is woken in place of the coroutine that awaits it, and goes on waiting or resumes that one.
template <std::predicate Predicate>
class [[nodiscard("a wait does nothing until it is awaited")]] async_condition_variable::wait_until_operation
    : detail::callback_frame,
      waiting {
 public:
  static_assert(
      detail::fits_into_frame<Predicate>,
      "g++ 12 misaligns over-aligned objects in coroutine frames: let the predicate refer to this one");

  wait_until_operation(async_condition_variable& waited_for, async_mutex_lock& lock,
                       Predicate&& holds) noexcept(std::is_nothrow_move_constructible_v<Predicate>)
      : callback_frame(&notified, nullptr), waiting(waited_for, lock), holds_(std::move(holds)) {}
  bool await_ready() { return holds_(); }
  CORACLE_NOINLINE_SUSPEND() void await_suspend(std::coroutine_handle<> suspended) noexcept {
    awaiting_ = suspended;
    suspend(callback_frame::handle());
    unlock_and_wait(*this);
  }
  void await_resume() { std::move(error_).get(); }

 private:
  static void notified(callback_frame* frame) {
    auto* const self = static_cast<wait_until_operation*>(frame);
    if (self->is_over()) {
      detail::resume_on_return(self->awaiting_);
    } else {
      unlock_and_wait(*self);
    }
  }
  bool is_over() noexcept {
#if CORACLE_EXCEPTIONS()
    try {
      return holds_();
    } catch (...) {
      error_.emplace_current_exception();
      return true;
    }
#else
    return holds_();
#endif
  }

  std::coroutine_handle<> awaiting_;
  Predicate holds_;
  detail::error_only error_;
};

inline async_condition_variable::wait_operation async_condition_variable::wait(
    async_mutex_lock& lock) noexcept {
  return wait_operation{*this, lock};
}
template <std::predicate Predicate>
async_condition_variable::wait_until_operation<Predicate> async_condition_variable::wait(
    async_mutex_lock& lock, Predicate holds) noexcept(std::is_nothrow_move_constructible_v<Predicate>) {
  return wait_until_operation<Predicate>{*this, lock, std::move(holds)};
}

inline void async_condition_variable::unlock_and_wait(waiting& self) noexcept {
  async_condition_variable& changed = self.changed;
  async_mutex& mutex = *self.mutex;
  {
    const detail::small_mutex_lock locked{changed.guard_};
    changed.queue_.push(self);
    changed.waited_for_.store(true, detail::memory_order_relaxed); /*C1*/
  }
  mutex.unlock();
}

inline void async_condition_variable::notify_one() noexcept {
  if (!waited_for_.load(detail::memory_order_relaxed)) return; /*C2*/
  waiting* first = nullptr;
  {
    const detail::small_mutex_lock locked{guard_};
    if (queue_.empty()) return;
    first = &queue_.pop();
    waited_for_.store(!queue_.empty(), detail::memory_order_relaxed); /*C1*/
  }
  first->mutex->lock_for(*first);
}

inline void async_condition_variable::notify_all() noexcept {
  if (!waited_for_.load(detail::memory_order_relaxed)) return; /*C2*/
  waiting* each = nullptr;
  {
    const detail::small_mutex_lock locked{guard_};
    each = queue_.take_all();
    waited_for_.store(false, detail::memory_order_relaxed); /*C1*/
  }
  while (each) {
    auto* const next = static_cast<waiting*>(each->next);
    each->mutex->lock_for(*each);
    each = next;
  }
}
}  // namespace coracle
