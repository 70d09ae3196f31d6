// tests/model/events.cpp -- the events, in every interleaving.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/single_consumer_async_auto_reset_event.hpp>
#include <coracle/sync/single_consumer_event.hpp>
#include <memory>

#include "../support/test_coroutine.hpp"
#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using namespace coracle_test;

template <class Event>
detached wait_and_look(Event& event, plain_int& data, int& seen) {
  co_await event;
  seen = data;
}

/// Every coroutine that is woken sees what was written before set().
template <class Event>
void hands_data_over() {
  Event event;
  plain_int data = 0;
  int seen = 0;
  model_thread setter{[&] {
    data = 7;
    event.set();
  }};
  wait_and_look(event, data, seen);
  setter.join();
  model_expect(seen == 7, "the waiter goes on, with the data");
}
template <unsigned Waiters>
void waiters_and_a_setter() {
  coracle::async_manual_reset_event event;
  plain_int data = 0;
  std::array<int, Waiters> seen{};
  together(Waiters + 1, [&](unsigned index) {
    if (index < Waiters) return static_cast<void>(wait_and_look(event, data, seen[index]));
    data = 7;
    event.set();
  });
  for (const int each : seen) model_expect(each == 7, "all go on");
}
void set_reset_and_wait() {
  coracle::async_manual_reset_event event;
  plain_int data = 0;
  int seen = 0;
  model_thread setter{[&] {
    event.set();
    event.reset();
    event.set();
  }};
  wait_and_look(event, data, seen);
  setter.join();
  model_expect(event.is_set(), "it stays set");
}
/// Once seen set, the event is set, even while another setter and a waiter change the word.
void set_is_not_undone() {
  coracle::async_manual_reset_event event;
  plain_int data = 0;
  int seen = 0;
  model_thread setter{[&] {
    data = 7;
    event.set();
  }};
  model_thread other{[&] { wait_and_look(event, data, seen); }};
  const bool before = event.is_set();
  const bool after = event.is_set();
  if (before) model_expect(after && data == 7, "it stays so, and shows what was written before");
  setter.join();
  other.join();
  model_expect(seen == 7, "the waiter goes on");
}
/// A thread that has seen the event set may destroy it.
template <class Event>
void who_sees_it_set_destroys_it() {
  auto event = std::make_unique<Event>();
  model_thread setter{[event = event.get()] { event->set(); }};
  while (!event->is_set()) coracle::testing::model_yield();
  event.reset();
  setter.join();
}
/// Sets the event for the next waiter, which continues inside that call.
detached pass_on(coracle::async_auto_reset_event& event, plain_int& through) {
  co_await event;
  ++through;  // one at a time: a data race otherwise
  event.set();
}
/// One set() wakes one waiter; a second set() wakes the other.
void auto_event_lets_one_through() {
  coracle::async_auto_reset_event event;
  plain_int through = 0;
  model_thread waiter{[&] { pass_on(event, through); }};
  event.set();
  pass_on(event, through);
  waiter.join();
  model_expect(through == 2, "both go on, one after the other");
}
template <unsigned Waiters>
void waiters_pass_it_on() {
  coracle::async_auto_reset_event event;
  plain_int through = 0;
  together(Waiters + 1, [&](unsigned index) {
    index < Waiters ? static_cast<void>(pass_on(event, through)) : event.set();
  });
  model_expect(through == Waiters, "all go on, one after the other");
}

/// A waiter sees what was done before each of two set() calls, even if they count as one.
template <class Event>
void two_setters() {
  Event event;
  coracle::detail::atomic<int> left{0}, right{0};
  int first = 0, second = 0;
  const auto wait = [&](int& seen) -> detached {
    co_await event;
    seen =
        left.load(coracle::detail::memory_order_relaxed) + right.load(coracle::detail::memory_order_relaxed);
  };
  model_thread one{[&] {
    left.store(1, coracle::detail::memory_order_relaxed);
    event.set();
  }};
  model_thread other{[&] {
    right.store(2, coracle::detail::memory_order_relaxed);
    event.set();
  }};
  wait(first);
  wait(second);
  one.join();
  other.join();
  model_expect((second != 0 ? second : first) == 3, "the last to go on sees both");
  if (second == 0) event.set();
}
/// As above for one consumer, which waits again only after it has continued.
template <unsigned Setters>
void setters_and_one_consumer() {
  coracle::single_consumer_async_auto_reset_event event;
  std::array<coracle::detail::atomic<unsigned>, Setters> set{};
  unsigned seen = 0, through = 0;
  const auto wait_for_each = [&]() -> detached {
    for (; through != Setters; ++through) {
      co_await event;
      seen = 0;
      for (auto& each : set) seen += each.load(coracle::detail::memory_order_relaxed);
    }
  };
  together(Setters + 1, [&](unsigned index) {
    if (index == Setters) return static_cast<void>(wait_for_each());
    set[index].store(1, coracle::detail::memory_order_relaxed);
    event.set();
  });
  model_expect(seen == Setters, "the last time it goes on it sees all");
  while (through != Setters) event.set();
}
/// All of them set it, and the consumer sees what at least one of them did before.
template <unsigned Setters>
void setters_of_one_that_stays_set() {
  coracle::single_consumer_event event;
  std::array<coracle::detail::atomic<unsigned>, Setters> set{};
  unsigned seen = 0;
  const auto wait = [&]() -> detached {
    co_await event;
    for (auto& each : set) seen += each.load(coracle::detail::memory_order_relaxed);
  };
  together(Setters + 1, [&](unsigned index) {
    if (index == Setters) return static_cast<void>(wait());
    set[index].store(1, coracle::detail::memory_order_relaxed);
    event.set();
  });
  model_expect(seen != 0, "it goes on");
}
/// A woken waiter may destroy the event before set() has returned.
template <class Event>
void waiter_destroys_it() {
  auto event = std::make_unique<Event>();
  const auto wait_and_destroy = [&]() -> detached {
    co_await *event;
    event.reset();
  };
  model_thread setter{[event = event.get()] { event->set(); }};
  wait_and_destroy();
  setter.join();
  model_expect(!event, "it has gone on");
}
/// A waiting coroutine is destroyed while another thread reads the event.
void waiting_coroutine_is_destroyed() {
  coracle::single_consumer_event event;
  auto waiting = started(event.operator co_await());
  model_thread other{[&] {
    model_expect(!event.is_set(), "it is not set");
    event.reset();
  }};
  waiting.destroy();
  other.join();
  event.set();
  model_expect(event.is_set(), "nobody has waited");
}

template <class Event>
detached_in_place note_end_on(const stoppable_place&, coracle::executor& executor, Event& event,
                              wait_end& end) {
  try {
    co_await event;
    end = wait_end::carried_out;
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
  model_expect(coracle::current_executor() == &executor, "it goes on where it was");
}
/// A wait on an executor is posted there exactly once, by the setter or by the stop request.
template <class Event>
void stop_against_set_on_an_executor() {
  Event event;
  model_executor executor;
  stoppable_place place;
  wait_end end = wait_end::waits;
  {
    const coracle::detail::executor_scope there{&executor};
    note_end_on(place, executor, event, end);
  }
  model_thread setter{[&] { event.set(); }};
  model_thread stopper{[&] { place.request_stop(); }};
  executor.run(1);
  model_expect(end != wait_end::waits, "it ends");
  setter.join();
  stopper.join();
  model_expect(executor.run_posted() == 0, "once");
}
/// The wait is over when the listener has returned: the event may then be destroyed.
template <class Event>
void stop_on_an_executor() {
  auto event = std::make_unique<Event>();
  model_executor executor;
  stoppable_place place;
  wait_end end = wait_end::waits;
  {
    const coracle::detail::executor_scope there{&executor};
    note_end(place, event->operator co_await(), end);
  }
  model_thread stopper{[&] { place.request_stop(); }};
  executor.run(1);
  event.reset();
  model_expect(end == wait_end::cancelled, "it ends");
}

/// Served while a stop request reads it: the wait is over when that has returned, and the event may then be
/// destroyed.
template <class Event>
detached_in_place wait_and_destroy(const stoppable_place&, std::unique_ptr<Event>& event, wait_end& end) {
  try {
    co_await *event;
    end = wait_end::carried_out;
    event.reset();
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
}
template <class Event>
void served_one_destroys_it_against_stop() {
  auto event = std::make_unique<Event>();
  stoppable_place place;
  wait_end end = wait_end::waits;
  wait_and_destroy(place, event, end);
  model_thread stopper{[&] { place.request_stop(); }};
  event->set();
  stopper.join();
  model_expect(end != wait_end::waits, "it ends");
}

/// Completion against a stop request: a set() that the cancelled wait has not used is kept for the next
/// waiter.
template <class Event, bool StaysSet>
void expect_used_once(Event& event, wait_end first) {
  model_expect(first != wait_end::waits, "it ends");
  bool next = false;
  const auto wait = [&]() -> detached {
    co_await event;
    next = true;
  };
  wait();
  model_expect(next == (StaysSet || first == wait_end::cancelled), "a set() is used once, and not lost");
  if (!next) event.set();
}
template <class Event, bool StaysSet>
void stop_against_set() {
  Event event;
  stoppable_place place;
  wait_end end = wait_end::waits;
  note_end(place, event.operator co_await(), end);
  model_thread setter{[&] { event.set(); }};
  place.request_stop();
  setter.join();
  expect_used_once<Event, StaysSet>(event, end);
}
/// A stop request while the wait begins.
template <class Event>
void stop_against_start() {
  Event event;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, event.operator co_await(), end);
  stopper.join();
  model_expect(end == wait_end::cancelled, "it ends");
}
/// A stop request and a set() while the wait begins: the set() is taken, or kept for the next waiter.
template <class Event, bool StaysSet>
void stop_and_set_against_start() {
  Event event;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_thread stopper{[&] { place.request_stop(); }};
  model_thread setter{[&] { event.set(); }};
  note_end(place, event.operator co_await(), end);
  stopper.join();
  setter.join();
  expect_used_once<Event, StaysSet>(event, end);
}
/// Two waiters, one of which is stopped during one set().
void auto_event_gives_to_the_other() {
  coracle::async_auto_reset_event event;
  stoppable_place place, never;
  wait_end stopped = wait_end::waits, other = wait_end::waits;
  note_end(place, event.operator co_await(), stopped);
  note_end(never, event.operator co_await(), other);
  model_thread stopper{[&] { place.request_stop(); }};
  event.set();
  stopper.join();
  model_expect(stopped != wait_end::waits, "it ends");
  model_expect((stopped == wait_end::cancelled) == (other == wait_end::carried_out), "the set() arrives");
  if (other == wait_end::waits) event.set();
}

/// A coroutine waits for two events, and both are set: one wakes it, and the other set() is not used up.
template <class Event, bool StaysSet>
void one_of_two() {
  Event left, right;
  coracle::detail::choice one_of;
  stoppable_place place;
  wait_end ends[2]{};
  note_end(place, one_of, left.operator co_await(), ends[0]);
  note_end(place, one_of, right.operator co_await(), ends[1]);
  model_thread setter{[&] { left.set(); }};
  right.set();
  setter.join();
  const bool by_left = ends[0] == wait_end::carried_out;
  model_expect(by_left != (ends[1] == wait_end::carried_out), "one of them");
  expect_used_once<Event, StaysSet>(by_left ? right : left, wait_end::cancelled);
  place.request_stop();
  model_expect(ends[by_left ? 1 : 0] == wait_end::cancelled,
               "the other ends, at the latest when it is stopped");
}
/// A waiter that has lost its choice arrives at an event that is set or about to be: it takes nothing.
template <class Event, bool StaysSet>
void lost_one_against_set() {
  Event event;
  coracle::detail::choice one_of;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_expect(one_of.claim(), "by another branch");
  model_thread setter{[&] { event.set(); }};
  note_end(place, one_of, event.operator co_await(), end);
  setter.join();
  expect_used_once<Event, StaysSet>(event, wait_end::cancelled);
  place.request_stop();
  model_expect(end == wait_end::cancelled, "it ends, at the latest when it is stopped");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  using coracle::async_auto_reset_event, coracle::async_manual_reset_event;
  using coracle::single_consumer_async_auto_reset_event, coracle::single_consumer_event;
  run.check("manual reset: set against await", run.all, hands_data_over<async_manual_reset_event>);
  run.check("auto reset: set against await", run.all, hands_data_over<async_auto_reset_event>);
  run.check("single consumer: set against await", run.all, hands_data_over<single_consumer_event>);
  run.check("single consumer, auto reset: set against await", run.all,
            hands_data_over<single_consumer_async_auto_reset_event>);
  run.check("manual reset: set, two waiters", 4, waiters_and_a_setter<2>);
  run.check("manual reset: set, three waiters", 3, waiters_and_a_setter<3>);
  run.check("manual reset: set and reset against await", run.all, set_reset_and_wait);
  run.check("manual reset: is set, once it is seen so", 4, set_is_not_undone);
  run.check("manual reset: who sees it set destroys it", run.all,
            who_sees_it_set_destroys_it<async_manual_reset_event>);
  run.check("single consumer: who sees it set destroys it", run.all,
            who_sees_it_set_destroys_it<single_consumer_event>);
  run.check("auto reset: two waiters", run.all, auto_event_lets_one_through);
  run.check("auto reset: three waiters, who pass it on", 3, waiters_pass_it_on<3>);
  run.check("auto reset: two setters", 4, two_setters<async_auto_reset_event>);
  run.check("single consumer, auto reset: two setters", 4, setters_and_one_consumer<2>);
  run.check("single consumer, auto reset: three setters", 2, setters_and_one_consumer<3>);
  run.check("single consumer: two setters", run.all, setters_of_one_that_stays_set<2>);
  run.check("single consumer: three setters", 2, setters_of_one_that_stays_set<3>);
  run.check("manual reset: the waiter destroys it", run.all, waiter_destroys_it<async_manual_reset_event>);
  run.check("auto reset: the waiter destroys it", run.all, waiter_destroys_it<async_auto_reset_event>);
  run.check("single consumer: the waiter destroys it", run.all, waiter_destroys_it<single_consumer_event>);
  run.check("single consumer, auto reset: the waiter destroys it", run.all,
            waiter_destroys_it<single_consumer_async_auto_reset_event>);
  run.check("single consumer: a waiting coroutine is destroyed", run.all, waiting_coroutine_is_destroyed);
  run.check("manual reset: stop against set", run.all, stop_against_set<async_manual_reset_event, true>);
  run.check("auto reset: stop against set", run.all, stop_against_set<async_auto_reset_event, false>);
  run.check("single consumer: stop against set", run.all, stop_against_set<single_consumer_event, true>);
  run.check("single consumer, auto reset: stop against set", run.all,
            stop_against_set<single_consumer_async_auto_reset_event, false>);
  run.check("manual reset: stop against start", run.all, stop_against_start<async_manual_reset_event>);
  run.check("auto reset: stop against start", run.all, stop_against_start<async_auto_reset_event>);
  run.check("single consumer: stop against start", run.all, stop_against_start<single_consumer_event>);
  run.check("manual reset: stop and set against start", 4,
            stop_and_set_against_start<async_manual_reset_event, true>);
  run.check("auto reset: stop and set against start", 4,
            stop_and_set_against_start<async_auto_reset_event, false>);
  run.check("single consumer, auto reset: stop and set against start", 4,
            stop_and_set_against_start<single_consumer_async_auto_reset_event, false>);
  run.check("auto reset: stop of one, set for the other", run.all, auto_event_gives_to_the_other);
  run.check("manual reset: stop on an executor", run.all, stop_on_an_executor<async_manual_reset_event>);
  run.check("single consumer: stop on an executor", run.all, stop_on_an_executor<single_consumer_event>);
  run.check("auto reset: stop against set, on an executor", run.all,
            stop_against_set_on_an_executor<async_auto_reset_event>);
  run.check("single consumer, auto reset: stop against set, on an executor", run.all,
            stop_against_set_on_an_executor<single_consumer_async_auto_reset_event>);
  run.check("manual reset: destroyed while a stop request looks at it", run.all,
            served_one_destroys_it_against_stop<async_manual_reset_event>);
  run.check("single consumer: destroyed while a stop request looks at it", run.all,
            served_one_destroys_it_against_stop<single_consumer_event>);
  run.check("manual reset: one of two", run.all, one_of_two<async_manual_reset_event, true>);
  run.check("auto reset: one of two", run.all, one_of_two<async_auto_reset_event, false>);
  run.check("single consumer: one of two", run.all, one_of_two<single_consumer_event, true>);
  run.check("single consumer, auto reset: one of two", run.all,
            one_of_two<single_consumer_async_auto_reset_event, false>);
  run.check("manual reset: a lost one", run.all, lost_one_against_set<async_manual_reset_event, true>);
  run.check("auto reset: a lost one", run.all, lost_one_against_set<async_auto_reset_event, false>);
  run.check("single consumer: a lost one", run.all, lost_one_against_set<single_consumer_event, true>);
  return run.finish();
}
