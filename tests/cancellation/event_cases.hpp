// tests/cancellation/event_cases.hpp -- events and the barrier.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_barrier.hpp>
#include <coracle/sync/async_latch.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/single_consumer_async_auto_reset_event.hpp>
#include <coracle/sync/single_consumer_event.hpp>

#include "../support/detached.hpp"
#include "../support/lets_through.hpp"
#include "cancellation_case.hpp"

namespace coracle_test {
/// Stays set, so that a cancelled and a completed wait leave the same state.
template <class Event>
class lasting_event_case final : public cancellation_case {
  coracle::task<> operation() override { co_await event_; }
  void complete() override { event_.set(); }
  bool intact(bool, bool completed) override { return event_.is_set() == completed; }

  Event event_;
};

/// The set() has completed the operation, or is kept for the next one.
template <class Event>
class closing_event_case final : public cancellation_case {
  coracle::task<> operation() override { co_await event_; }
  void complete() override { event_.set(); }
  bool intact(bool carried_out, bool completed) override {
    return lets_through(event_) == (completed && !carried_out);
  }

  Event event_;
};

/// Counting does not depend on the waiters.
class latch_case final : public cancellation_case {
  coracle::task<> operation() override { co_await latch_; }
  void complete() override { latch_.count_down(); }
  bool intact(bool, bool completed) override { return latch_.is_ready() == completed; }

  coracle::async_latch latch_{1};
};

/// Two are expected, the operation and another. The phase ends only if both have arrived; an operation that
/// was cancelled has not, and its place can be given up.
class barrier_case final : public cancellation_case {
  struct count_phases {
    int* phases;
    void operator()() const noexcept { ++*phases; }
  };

  coracle::task<> operation() override { co_await barrier_.arrive_and_wait(); }
  void complete() override { other_arrives(); }
  bool intact(bool carried_out, bool completed) override {
    const bool right = phases_ == (carried_out ? 1 : 0) && other_waits_ == (completed && !carried_out);
    if (!carried_out) barrier_.arrive_and_drop();
    if (!completed) barrier_.arrive_and_drop();
    return right && phases_ == 1 && !other_waits_;
  }
  detached other_arrives() {
    other_waits_ = true;
    co_await barrier_.arrive_and_wait();
    other_waits_ = false;
  }

  int phases_ = 0;
  bool other_waits_ = false;
  coracle::async_barrier<count_phases> barrier_{2, count_phases{&phases_}};
};

inline std::vector<cancellation_entry> event_cases() {
  using manual = coracle::async_manual_reset_event;
  using automatic = coracle::async_auto_reset_event;
  using single_manual = coracle::single_consumer_event;
  using single_automatic = coracle::single_consumer_async_auto_reset_event;
  return {
      {"async_manual_reset_event::wait_operation", &make_case<lasting_event_case<manual>>},
      {"async_auto_reset_event::wait_operation", &make_case<closing_event_case<automatic>>},
      {"single_consumer_event::wait_operation", &make_case<lasting_event_case<single_manual>>},
      {"single_consumer_async_auto_reset_event::wait_operation",
       &make_case<closing_event_case<single_automatic>>},
      {"async_manual_reset_event::wait_operation", &make_case<latch_case>},  // async_latch gives it
      {"async_barrier::arrive_operation", &make_case<barrier_case>},
  };
}
}  // namespace coracle_test
