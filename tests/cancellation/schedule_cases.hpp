// tests/cancellation/schedule_cases.hpp -- operations that move to a scheduler, and blocking calls.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/schedule.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/blocking.hpp>
#include <coracle/exec/round_robin_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/strand.hpp>
#include <semaphore>

#include "../support/detached.hpp"
#include "cancellation_case.hpp"

namespace coracle_test {
/// Coroutines queued on an executor are never removed, so complete() must run them.
class hop_case : public cancellation_case {
 protected:
  void complete() override { loop_.run_pending(); }
  void settle() override {
    while (loop_.run_one()) {
    }
  }
  bool intact(bool carried_out, bool) override { return (arrived_on_ == destination()) == carried_out; }
  virtual coracle::executor* destination() { return &loop_; }
  void arrive() { arrived_on_ = coracle::current_executor(); }

  coracle::run_loop loop_;

 private:
  const coracle::executor* arrived_on_ = nullptr;
};

class schedule_case final : public hop_case {
  coracle::task<> operation() override {
    co_await loop_.schedule();
    arrive();
  }
};
class strand_case final : public hop_case {
  coracle::task<> operation() override {
    co_await strand_.schedule();
    arrive();
  }
  coracle::executor* destination() override { return &strand_; }

  coracle::strand strand_{loop_};
};
class scheduler_ref_case final : public hop_case {
  coracle::task<> operation() override {
    co_await coracle::scheduler_ref{&loop_}.schedule();
    arrive();
  }
};

class yield_case final : public hop_case {
  /// yield() in a coroutine that runs on `place`.
  class yield_on {
   public:
    explicit yield_on(coracle::executor& place) noexcept : place_(place) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
      const coracle::detail::executor_scope there{&place_};
      return yield_.await_suspend(suspended);
    }
    void await_resume() const { yield_.await_resume(); }

   private:
    coracle::executor& place_;
    coracle::this_task::yield_operation yield_;
  };
  coracle::task<> operation() override {
    co_await yield_on{loop_};
    arrive();
  }
};

/// The ring supports only one thread, so all steps but the first happen in settle().
class round_robin_case final : public cancellation_case {
  coracle::task<> operation() override {
    co_await ring_.schedule();
    had_its_turn_ = true;
  }
  void complete() override {}
  void settle() override { ring_.drain(); }
  bool intact(bool carried_out, bool) override { return had_its_turn_ == carried_out; }

  coracle::round_robin_scheduler<2> ring_;
  bool had_its_turn_ = false;
};

/// The only thread of the pool is blocked until complete().
class blocking_case final : public cancellation_case {
 public:
  blocking_case() {
    const auto hold = [this] { hold_.acquire(); };
    run_detached(coracle::blocking(pool(), hold));
  }
  ~blocking_case() override {
    if (!completed_) hold_.release();
    run_what_is_queued();
  }

 private:
  coracle::task<> operation() override {
    const auto call = [this] { called_ = true; };
    co_await coracle::blocking(pool(), call);
  }
  void complete() override {
    completed_ = true;
    hold_.release();
  }
  void settle() override {
    if (completed_) run_what_is_queued();
  }
  bool intact(bool carried_out, bool) override { return called_ == carried_out; }

  static coracle::blocking_pool& pool() {
    static auto* const one = new coracle::blocking_pool{1};  // never destroyed: see service_of_cases()
    return *one;
  }
  static void run_what_is_queued() {
    const auto last = [] {};
    coracle::sync_wait(coracle::blocking(pool(), last));
  }

  std::binary_semaphore hold_{0};
  bool completed_ = false, called_ = false;
};

inline std::vector<cancellation_entry> schedule_cases() {
  constexpr auto hop = when_stopped::takes_its_turn;
  return {
      {"schedule_operation", &make_case<schedule_case>, hop},
      {"schedule_operation", &make_case<strand_case>, hop},
      {"scheduler_ref::schedule_operation", &make_case<scheduler_ref_case>, hop},
      {"yield_operation", &make_case<yield_case>, hop},
      {"round_robin_scheduler::schedule_operation", &make_case<round_robin_case>, hop, false,
       in_races::stop_wins},
      {"blocking_operation", &make_case<blocking_case>, when_stopped::ends_at_once, true, in_races::alone}};
}
}  // namespace coracle_test
