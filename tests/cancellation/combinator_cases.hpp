// tests/cancellation/combinator_cases.hpp -- callbacks, shared work, concurrency limits, rate limits.
// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/compose/from_callback.hpp>
#include <coracle/compose/single_flight.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/time/rate_limiter.hpp>
#include <mutex>
#include <optional>

#include "cancellation_case.hpp"
#include "time_cases.hpp"

namespace coracle_test {
/// A callback API: the side that takes the completion calls it.
class callback_case final : public cancellation_case {
  coracle::task<> operation() override {
    auto start = [this](coracle::completion<> done) {
      {
        const std::lock_guard locked{mutex_};
        if (!completed_) {
          waiting_.emplace(std::move(done));
          return;
        }
      }
      done();
    };
    auto cancel = [this] {
      if (auto done = take(false)) done->cancelled();
    };
    co_await coracle::from_callback<void>(start, cancel);
  }
  void complete() override {
    if (auto done = take(true)) (*done)();
  }
  bool intact(bool carried_out, bool completed) override {
    return !waiting_ && completed_ == completed && (completed || !carried_out);
  }

  std::optional<coracle::completion<>> take(bool completes) {
    const std::lock_guard locked{mutex_};
    completed_ = completed_ || completes;
    std::optional<coracle::completion<>> taken = std::move(waiting_);
    waiting_.reset();
    return taken;
  }

  std::mutex mutex_;
  std::optional<coracle::completion<>> waiting_;
  bool completed_ = false;
};

class single_flight_case final : public cancellation_case {
  coracle::task<> operation() override {
    auto work = [this]() -> coracle::task<int> {
      ++started_;
      co_await event_;
      co_return 42;
    };
    result_ = co_await flights_.run(1, work);
  }
  void complete() override { event_.set(); }
  bool intact(bool carried_out, bool completed) override {
    return event_.is_set() == completed && result_ == (carried_out ? 42 : 0) && started_ <= 1;
  }

  coracle::single_flight<int, int> flights_;
  coracle::async_manual_reset_event event_;
  int started_ = 0;
  int result_ = 0;
};

/// Three children that wait for the same event, two of them at a time.
class for_each_case final : public cancellation_case {
  coracle::task<> operation() override {
    auto wait = [this](int) -> coracle::task<> {
      ++begun_;
      co_await event_;
      ++ended_;
    };
    co_await coracle::for_each_concurrent(elements_, 2, wait);
  }
  void complete() override { event_.set(); }
  bool intact(bool carried_out, bool completed) override {
    return event_.is_set() == completed && (carried_out ? ended_ == 3 : begun_ <= 3) && ended_ <= begun_;
  }

  coracle::async_manual_reset_event event_;
  int elements_[3] = {1, 2, 3};
  std::atomic<int> begun_{0};  // the setter and the stop request run children on two threads
  std::atomic<int> ended_{0};
};

/// The bucket is empty until complete().
class rate_limiter_case final : public timer_case {
 public:
  rate_limiter_case() { static_cast<void>(takes_one()); }

 private:
  coracle::task<> operation() override {
    co_await clock_.enter();
    co_await limiter_.acquire();
  }
  bool intact(bool carried_out, bool completed) override {
    clock_.move_to(moment + std::chrono::seconds{1});
    return timer_case::intact(carried_out, completed) && takes_one() && !takes_one();
  }
  bool takes_one() {
    const coracle::detail::executor_scope here{&clock_};
    return limiter_.try_acquire();
  }

  coracle::rate_limiter limiter_{1, std::chrono::seconds{1}, 1};
};

inline std::vector<cancellation_entry> combinator_cases() {
  return {
      {"callback_awaiter", &make_case<callback_case>},
      {"single_flight::start_operation", &make_case<single_flight_case>, when_stopped::joins_its_children},
      {"child_group::next_operation", &make_case<for_each_case>, when_stopped::joins_its_children},
      {"rate_limiter::acquire_operation", &make_case<rate_limiter_case>, when_stopped::ends_at_once, true},
  };
}
}  // namespace coracle_test
