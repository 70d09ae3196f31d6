// coracle/sync/async_condition_variable.hpp -- wait, under a lock, until a condition holds.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/base/exchange.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <cstdint>

namespace coracle {
/// Releases a lock while waiting for a notification, and reacquires it afterwards.
///
///     auto lock = co_await mutex.scoped_lock_async();
///     const auto filled = [&] { return !queue.empty(); };
///     co_await changed.wait(lock, filled);  // elsewhere: queue.push(item); changed.notify_one();
///
/// Prefer an event if waiters only need to know whether something has happened.
/// Order         the first to wait is notified first. Notified waiters move to the queue for the lock without
///               waking: notify_all() causes no thundering herd.
/// Resumes on    the executor on which the waiter suspended, with the lock held; outside any executor, inside
///               the unlock() that hands it the lock, or inside notify if the lock is free.
/// Cancellation  a stop request ends the wait, unless it was notified before. The await completes once the
///               coroutine has reacquired the lock, which a stop request does not cut short.
/// Exceptions    operation_cancelled, and those of the predicate: with the lock held.
/// Threads       all members are thread-safe; notify with or without the lock held. No spurious wake-ups.
///               A notified waiter may destroy it if no other coroutine waits.
/// Cost          24 bytes; no allocation; one load to notify without waiters.
class async_condition_variable {
 public:
  async_condition_variable() noexcept = default;
  async_condition_variable(const async_condition_variable&) = delete;
  async_condition_variable& operator=(const async_condition_variable&) = delete;
  /// Requires: no coroutine is waiting.
  ~async_condition_variable() {
    CORACLE_REQUIRE(
        state_.load(detail::memory_order_relaxed) == nobody,
        "an async_condition_variable was destroyed while coroutines wait for it: stop and join them first");
  }

  class wait_operation;
  template <std::predicate Predicate>
  class wait_until_operation;

  /// Awaitable of nothing: unlocks, waits for a notification, and locks again. It counts as waiting before it
  /// unlocks, so no notification is missed in between. Waiters may use different mutexes.
  /// Requires: `lock` was not moved from.
  wait_operation wait(async_mutex_lock& lock) noexcept;
  /// Waits until `holds()` returns true. Calls it with the lock held, where the awaiting coroutine runs: once
  /// before waiting, then after each notification.
  template <std::predicate Predicate>
  wait_until_operation<Predicate> wait(async_mutex_lock& lock, Predicate holds) noexcept(
      std::is_nothrow_move_constructible_v<Predicate>);
  template <class... Ts>
  auto wait(Ts&&...) {
    static_assert(
        detail::never<Ts...>,
        "wait(lock, predicate) needs a named async_mutex_lock, from co_await "
        "mutex.scoped_lock_async(), and, if given, a function that takes nothing and returns a bool");
    return detail::any_awaiter{};
  }

  /// Wakes the first waiter. No effect if there is none.
  void notify_one() noexcept;
  /// Wakes every waiting coroutine.
  void notify_all() noexcept;

 private:
  /// A waiter: in queue_ until it is notified or stopped, and from then on in the queue of its mutex, whose
  /// lock guards the links in the meantime. `asleep` and `stopped` belong to the lock of state_. It has
  /// claimed its choice, or lost it, and left it before it goes to the mutex.
  struct sleeper : async_mutex::contender {
    using contender::contender;
    detail::plain<bool> asleep = false;  // it is in queue_; the thread that removes it passes it to the mutex
    detail::plain<bool> stopped = false;  // it will not fall asleep again
  };
  template <class Operation>
  class sleep_operation;

  bool fall_asleep(sleeper& self) noexcept;
  bool stop(sleeper& self, detail::plain<stop_reason>& why) noexcept;
  detail::choice* leave_choice(sleeper& self) noexcept;
  void wake_first() noexcept;
  void wake_all() noexcept;
  void rouse(sleeper& self) noexcept;
  static void lock_and_wake(sleeper& self) noexcept;

  // nobody: queue_ is empty; waited_for: it is not. Both change only under the lock.
  // A notifier that changed the condition under the lock of the mutex did so before the waiter checked it, or
  // after the waiter had gone to sleep, which it then sees through that lock. So [C1] needs no order.
  //   [C1] does somebody wait?   relaxed   what the waiters are is read under the lock
  static constexpr std::uint32_t nobody = 0, waited_for = 2;
  detail::locked_word<std::uint32_t> state_{nobody};
  detail::intrusive_list<sleeper> queue_;
};

template <class Operation>
class async_condition_variable::sleep_operation : public detail::stoppable_wait<Operation, sleeper> {
 public:
  /// When it ends, it has the lock again, and its coroutine may look at what that guards.
  static constexpr bool resumes_when_stopped = true;

  sleep_operation(async_condition_variable& changed, async_mutex_lock& lock) noexcept
      : changed_(changed), mutex_(lock.mutex()) {
    CORACLE_REQUIRE(mutex_, "wait() of an async_condition_variable with a lock that was moved from");
  }

  /// Returns the reason why it was cancelled, or none. Called in place of await_resume() to avoid an
  /// exception.
  stop_reason await_cancelled() noexcept {
    if (const stop_reason why = this->end_wait(); why != stop_reason::none) return why;
    if (!cancelled_) return stop_reason::none;
    cancelled_ = false;
    return detail::exchange(reason_, stop_reason::lost_race);
  }

 protected:
  /// Throws operation_cancelled if a stop request has ended the wait.
  void finish_sleep() {
    const stop_reason why = await_cancelled();
    if (why != stop_reason::none) [[unlikely]]
      detail::throw_cancelled(why);
  }
  /// Returns false if stop is requested. Otherwise this object may be destroyed already.
  bool fall_asleep() noexcept {
    this->node().lock = mutex_;
    if (changed_.fall_asleep(this->node())) return true;
    cancelled_ = true;
    return false;
  }
  /// The mutex wakes it, now or in its turn.
  bool withdraw() noexcept {
    if (!changed_.stop(this->node(), reason_)) return false;
    cancelled_ = true;
    lock_and_wake(this->node());
    return false;
  }
  detail::choice* leave_choice() noexcept { return changed_.leave_choice(this->node()); }
  [[nodiscard]] bool is_cancelled() const noexcept { return cancelled_; }
  void lose() noexcept { cancelled_ = true; }
  /// Notified, but its choice was lost: passes the notification to another waiter.
  void pass_on() noexcept { changed_.notify_one(); }

 private:
  async_condition_variable& changed_;
  async_mutex* const mutex_;
  detail::plain<bool> cancelled_ = false;
  detail::plain<stop_reason> reason_ = stop_reason::lost_race;  // that of the stop request, if there was one
};

class [[nodiscard("a wait does nothing until it is awaited")]] async_condition_variable::wait_operation
    : public sleep_operation<wait_operation> {
 public:
  using sleep_operation::sleep_operation;
  void await_resume() { finish_sleep(); }

 private:
  friend detail::stoppable_wait<wait_operation, sleeper>;
  bool try_now() const noexcept { return false; }
  bool enqueue() noexcept { return fall_asleep(); }
};

/// Woken in place of the awaiting coroutine; keeps waiting, or resumes the coroutine.
template <std::predicate Predicate>
class [[nodiscard("a wait does nothing until it is awaited")]] async_condition_variable::wait_until_operation
    : public sleep_operation<wait_until_operation<Predicate>>,
      detail::callback_frame {
 public:
  static_assert(
      detail::fits_into_frame<Predicate>,
      "compilers misalign over-aligned objects in coroutine frames: let the predicate refer to this one");

  wait_until_operation(async_condition_variable& changed, async_mutex_lock& lock,
                       Predicate&& holds) noexcept(std::is_nothrow_move_constructible_v<Predicate>)
      : sleep_operation<wait_until_operation>(changed, lock),
        detail::callback_frame(&notified, nullptr),
        holds_(std::move(holds)) {}
  /// Requires: not awaited yet.
  wait_until_operation(wait_until_operation&& other) noexcept(std::is_nothrow_move_constructible_v<Predicate>)
      : sleep_operation<wait_until_operation>(other),
        detail::callback_frame(&notified, nullptr),
        holds_(std::move(other.holds_)) {}
  void await_resume() {
    this->finish_sleep();
    std::move(error_).get();
  }

 private:
  friend detail::stoppable_wait<wait_until_operation, sleeper>;
  bool try_now() noexcept { return is_over(); }
  bool enqueue() noexcept {
    awaiting_ = detail::exchange(this->node().queued_waiter::handle, detail::callback_frame::handle());
    // The predicate decides, not the notification.
    one_of_ = this->leave_choice();
    if (!one_of_ || !is_over()) return this->fall_asleep();
    if (!one_of_->claim()) this->lose();
    return false;
  }
  static void notified(detail::callback_frame* frame) {
    auto* const self = static_cast<wait_until_operation*>(frame);
    if (!self->goes_on_waiting()) detail::resume_on_return(self->awaiting_);
  }
  /// If it returns true, this object may be destroyed already.
  bool goes_on_waiting() noexcept {
    if (this->is_cancelled()) return false;
    if (!is_over()) return this->fall_asleep();
    if (one_of_ && !one_of_->claim()) {
      this->lose();
      this->pass_on();
    }
    return false;
  }
  bool is_over() noexcept {
    CORACLE_TRY() { return holds_(); }
    CORACLE_CATCH_ALL() {
      error_.emplace_current_exception();
      return true;
    }
  }

  std::coroutine_handle<> awaiting_;
  detail::choice* one_of_ = nullptr;
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

/// Unlocks the mutex as its last step. Returns false if it must stop, and keeps the mutex.
inline bool async_condition_variable::fall_asleep(sleeper& self) noexcept {
  async_mutex& mutex = *self.lock;
  const std::uint32_t seen = state_.lock();
  if (self.stopped) {
    state_.unlock(seen);
    return false;
  }
  self.asleep = true;
  queue_.push(self);
  state_.unlock(waited_for);
  mutex.unlock();
  return true;
}
/// Removes it from the queue, for the caller to pass to the mutex once the lock is released.
inline void async_condition_variable::rouse(sleeper& self) noexcept {
  queue_.remove(self);
  self.leave_choice();
  self.asleep = false;
}
inline void async_condition_variable::lock_and_wake(sleeper& self) noexcept { self.lock->lock_for(self); }
/// From now on it is its coroutine's only wait; returns the choice that it belonged to. Takes the lock,
/// because its listener may run.
inline detail::choice* async_condition_variable::leave_choice(sleeper& self) noexcept {
  detail::choice* const shared = self.one_of();
  if (!shared) return nullptr;
  const std::uint32_t seen = state_.lock();
  self.leave_choice();
  state_.unlock(seen);
  return shared;
}
/// Returns true if it was asleep, and the caller must pass it to its mutex.
inline bool async_condition_variable::stop(sleeper& self, detail::plain<stop_reason>& why) noexcept {
  static_cast<void>(state_.lock());
  why = self.why();
  self.stopped = true;
  const bool was_asleep = self.asleep;
  if (was_asleep) rouse(self);
  state_.unlock(queue_.empty() ? nobody : waited_for);
  return was_asleep;
}

inline void async_condition_variable::notify_one() noexcept {
  if (state_.load(detail::memory_order_relaxed) != nobody) wake_first(); /*C1*/
}
inline void async_condition_variable::notify_all() noexcept {
  if (state_.load(detail::memory_order_relaxed) != nobody) wake_all(); /*C1*/
}

CORACLE_NOINLINE() inline void async_condition_variable::wake_first() noexcept {
  static_cast<void>(state_.lock());
  sleeper* first = queue_.front();
  while (first && !first->claim()) first = static_cast<sleeper*>(first->next);
  if (first) rouse(*first);
  state_.unlock(queue_.empty() ? nobody : waited_for);
  if (first) lock_and_wake(*first);
}

CORACLE_NOINLINE() inline void async_condition_variable::wake_all() noexcept {
  static_cast<void>(state_.lock());
  detail::plain<resumption*> first = nullptr;
  detail::plain<resumption*>* end = &first;
  for (sleeper* each = queue_.front(); each;) {
    sleeper& one = *detail::exchange(each, static_cast<sleeper*>(each->next));
    if (!one.claim()) continue;
    rouse(one);
    *detail::exchange(end, &one.next) = &one;
  }
  *end = nullptr;
  state_.unlock(queue_.empty() ? nobody : waited_for);
  while (first) lock_and_wake(static_cast<sleeper&>(*detail::exchange(first, first->next)));
}
}  // namespace coracle
