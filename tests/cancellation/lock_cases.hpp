// tests/cancellation/lock_cases.hpp -- mutexes, the semaphore and the condition variable.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/environment.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/sync/async_condition_variable.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/sync/async_shared_mutex.hpp>
#include <thread>

#include "cancellation_case.hpp"

namespace coracle_test {
/// The case holds the lock until complete(); then the operation holds it, or it is free.
class mutex_case final : public cancellation_case {
 public:
  mutex_case() { static_cast<void>(mutex_.try_lock()); }

 private:
  coracle::task<> operation() override { co_await mutex_.lock_async(); }
  void complete() override { mutex_.unlock(); }
  bool intact(bool carried_out, bool completed) override {
    const bool held = !mutex_.try_lock();
    mutex_.unlock();
    return held == (carried_out || !completed);
  }

  coracle::async_mutex mutex_;
};

/// The operation releases its lock.
class scoped_mutex_case final : public cancellation_case {
 public:
  scoped_mutex_case() { static_cast<void>(mutex_.try_lock()); }

 private:
  coracle::task<> operation() override { const auto lock = co_await mutex_.scoped_lock_async(); }
  void complete() override { mutex_.unlock(); }
  bool intact(bool, bool completed) override {
    const bool held = !mutex_.try_lock();
    mutex_.unlock();
    return held == !completed;
  }

  coracle::async_mutex mutex_;
};

inline int drain(coracle::async_semaphore& semaphore) {
  int permits = 0;
  while (semaphore.try_acquire()) ++permits;
  return permits;
}
/// Two permits are released, one is acquired.
class semaphore_case final : public cancellation_case {
  coracle::task<> operation() override { co_await semaphore_.acquire(); }
  void complete() override { semaphore_.release(2); }
  bool intact(bool carried_out, bool completed) override {
    return drain(semaphore_) == 2 * completed - carried_out;
  }

  coracle::async_semaphore semaphore_{0};
};
class scoped_semaphore_case final : public cancellation_case {
  coracle::task<> operation() override { const auto permit = co_await semaphore_.scoped_acquire(); }
  void complete() override { semaphore_.release(); }
  bool intact(bool, bool completed) override { return drain(semaphore_) == completed; }

  coracle::async_semaphore semaphore_{0};
};

/// The operation locks for reading or writing, while the case holds the mutex in one of these modes.
template <bool Writes, bool HeldAlone>
class shared_mutex_case final : public cancellation_case {
 public:
  shared_mutex_case() { static_cast<void>(HeldAlone ? mutex_.try_lock() : mutex_.try_lock_shared()); }

 private:
  coracle::task<> operation() override {
    if constexpr (Writes) {
      co_await mutex_.lock_async();
    } else {
      co_await mutex_.lock_shared_async();
    }
  }
  void complete() override { HeldAlone ? mutex_.unlock() : mutex_.unlock_shared(); }
  bool intact(bool carried_out, bool completed) override {
    if (!completed) complete();
    const bool held = !mutex_.try_lock();
    if (!held) mutex_.unlock();
    if (carried_out) Writes ? mutex_.unlock() : mutex_.unlock_shared();
    return held == carried_out;
  }

  coracle::async_shared_mutex mutex_;
};

/// With a predicate or without. A cancelled wait reacquires the lock, too.
template <bool Predicate>
class condition_variable_case final : public cancellation_case {
  coracle::task<> operation() override {
    lock();
    auto held = coracle::async_mutex_lock::adopt(mutex_);
    try {
      co_await wait(held);
    } catch (const coracle::operation_cancelled&) {
      has_lock_ = !mutex_.try_lock();
      throw;
    }
    has_lock_ = !mutex_.try_lock();
  }
  coracle::task<> wait(coracle::async_mutex_lock& held) {
    if constexpr (Predicate) {
      const auto is_set = [this] { return set_; };
      co_await changed_.wait(held, is_set);
    } else if (!set_) {
      co_await changed_.wait(held);
    } else {
      co_await coracle::this_task::throw_if_stopped();
    }
  }
  void complete() override {
    lock();
    set_ = true;
    mutex_.unlock();
    changed_.notify_one();
  }
  bool intact(bool, bool completed) override { return has_lock_ && mutex_.try_lock() && unlocked(completed); }
  bool unlocked(bool completed) {
    mutex_.unlock();
    return set_ == completed;
  }
  void lock() {
    while (!mutex_.try_lock()) std::this_thread::yield();
  }

  coracle::async_mutex mutex_;
  coracle::async_condition_variable changed_;
  bool set_ = false;
  bool has_lock_ = false;
};

inline std::vector<cancellation_entry> lock_cases() {
  return {{"async_mutex::lock_operation", &make_case<mutex_case>},
          {"async_mutex::scoped_lock_operation", &make_case<scoped_mutex_case>},
          {"async_semaphore::acquire_operation", &make_case<semaphore_case>},
          {"async_semaphore::scoped_acquire_operation", &make_case<scoped_semaphore_case>},
          {"async_shared_mutex::enter_operation", &make_case<shared_mutex_case<true, true>>},
          {"async_shared_mutex::enter_operation", &make_case<shared_mutex_case<true, false>>},
          {"async_shared_mutex::enter_operation", &make_case<shared_mutex_case<false, true>>},
          {"async_condition_variable::wait_operation", &make_case<condition_variable_case<false>>},
          {"async_condition_variable::wait_until_operation", &make_case<condition_variable_case<true>>}};
}
}  // namespace coracle_test
