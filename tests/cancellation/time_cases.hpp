// tests/cancellation/time_cases.hpp -- sleeps, ticks, timeouts and timers.
// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <coracle/base/intrusive_queue.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/time/detail/timer_queue.hpp>
#include <coracle/time/interval.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>
#include <mutex>

#include "../support/detached.hpp"
#include "cancellation_case.hpp"

namespace coracle_test {
/// An executor whose clock any thread may advance, and which runs posted coroutines on request.
class clock_by_hand final : public coracle::executor, coracle::timer_service {
 public:
  using coracle::timer_service::time_point;

  void post(coracle::resumption& item) noexcept override {
    const std::lock_guard lock{mutex_};
    posted_.push(item);
  }
  coracle::timer_service* timers() noexcept override { return this; }

  void move_to(time_point time) {
    {
      const std::lock_guard lock{mutex_};
      now_ = time;
    }
    while (coracle::detail::timer* const due = pop_due()) coracle::detail::fire(*due);
  }
  void run_pending() {
    const coracle::detail::executor_scope here{this};
    while (coracle::resumption* const item = pop()) coracle::resume(item->handle);
  }
  [[nodiscard]] bool is_idle() {
    const std::lock_guard lock{mutex_};
    return posted_.empty() && timers_.empty();
  }

  /// An awaitable that resumes its coroutine here; the call returns when the coroutine suspends.
  class enter_operation {
   public:
    explicit enter_operation(clock_by_hand& place) noexcept : place_(place) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) const {
      const coracle::detail::executor_scope here{&place_};
      coracle::resume(self);
    }
    void await_resume() const noexcept {}

   private:
    clock_by_hand& place_;
  };
  enter_operation enter() noexcept { return enter_operation{*this}; }

 private:
  time_point now() noexcept override {
    const std::lock_guard lock{mutex_};
    return now_;
  }
  bool add(coracle::detail::timer& each, time_point deadline) noexcept override {
    {
      const std::lock_guard lock{mutex_};
      if (deadline > now_) return timers_.add(each, deadline);
      if (each.progress == coracle::detail::timer::state::removed) return false;
      each.progress = coracle::detail::timer::state::fired;
    }
    coracle::detail::fire(each);
    return true;
  }
  bool remove(coracle::detail::timer& each) noexcept override {
    const std::lock_guard lock{mutex_};
    return timers_.remove(each);
  }
  coracle::detail::timer* pop_due() {
    const std::lock_guard lock{mutex_};
    return timers_.pop_due(now_);
  }
  coracle::resumption* pop() {
    const std::lock_guard lock{mutex_};
    return posted_.empty() ? nullptr : &posted_.pop();
  }

  std::mutex mutex_;
  time_point now_{};
  coracle::detail::timer_queue timers_{time_point{}};
  coracle::detail::intrusive_queue<coracle::resumption> posted_;
};

class timer_case : public cancellation_case {
 protected:
  static constexpr std::chrono::steady_clock::time_point moment{std::chrono::seconds{1}};

  void complete() override { clock_.move_to(moment); }
  void settle() override { clock_.run_pending(); }
  bool intact(bool carried_out, bool completed) override {
    return clock_.is_idle() && (!carried_out || completed);
  }

  clock_by_hand clock_;
};
class sleep_case final : public timer_case {
  coracle::task<> operation() override {
    co_await clock_.enter();
    co_await coracle::sleep_until(moment);
  }
};
/// The first tick is immediate; the case waits for the second one.
class tick_case final : public timer_case {
 public:
  tick_case() { run_detached(operation()); }

 private:
  coracle::task<> operation() override {
    co_await clock_.enter();
    co_await ticks_.tick();
  }

  coracle::interval ticks_{moment.time_since_epoch()};
};

/// complete() cannot advance the clock of an io_service, so the timers are short, and it ends their sequence.
class io_timer_case final : public cancellation_case {
  coracle::task<> operation() override {
    struct at_end {
      bool& ended;
      ~at_end() { ended = true; }
    } const guard{ended_};
    do {
      due_ = coracle::steady_now() + std::chrono::microseconds(10);
      co_await io_.schedule_at(due_);
    } while (!completed_.load(std::memory_order_acquire));
  }
  void complete() override {
    completed_.store(true, std::memory_order_release);
    io_.process_pending_events();
  }
  void settle() override {
    while (!ended_) io_.process_one_event();
    io_.process_pending_events();
  }
  /// A thread that was held up may have started the timer when it was due.
  bool may_be_completed() override { return coracle::steady_now() >= due_; }
  bool intact(bool carried_out, bool completed) override { return !carried_out || completed; }

  coracle::io_service io_;
  std::chrono::steady_clock::time_point due_;
  std::atomic<bool> completed_{false};
  bool ended_ = false;
};

/// Waits for something else, with a distant deadline.
class deadline_case : public cancellation_case {
 protected:
  void complete() override { event_.set(); }
  bool intact(bool, bool completed) override { return event_.is_set() == completed; }

  coracle::async_manual_reset_event event_;
};
class timeout_case final : public deadline_case {
  coracle::task<> operation() override { co_await coracle::timeout(event_, std::chrono::hours(1)); }
};
class stop_after_case final : public deadline_case {
  coracle::task<> operation() override { co_await coracle::stop_after(event_, std::chrono::hours(1)); }
};
class stop_at_case final : public deadline_case {
  coracle::task<> operation() override {
    co_await coracle::stop_at(event_, coracle::steady_now() + std::chrono::hours(1));
  }
};

inline std::vector<cancellation_entry> time_cases() {
  constexpr auto at_once = when_stopped::ends_at_once, joins = when_stopped::joins_its_children;
  return {{"sleep_operation", &make_case<sleep_case>, at_once, true},
          {"interval::tick_operation", &make_case<tick_case>, at_once, true},
          {"io_service::timed_schedule_operation", &make_case<io_timer_case>, at_once, true},
          {"timeout()", &make_case<timeout_case>, joins},
          {"stop_after()", &make_case<stop_after_case>, joins},
          {"stop_at()", &make_case<stop_at_case>, joins}};
}
}  // namespace coracle_test
