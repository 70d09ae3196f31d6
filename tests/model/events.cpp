// tests/model/events.cpp -- the events, in every interleaving.
// SPDX-License-Identifier: MIT
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_barrier.hpp>
#include <coracle/sync/async_latch.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/single_consumer_async_auto_reset_event.hpp>
#include <coracle/sync/single_consumer_event.hpp>

#include "model_waits.hpp"

namespace {
using coracle::stop_source;
using coracle_test::detached;
using coracle_test::model_expect;
using coracle_test::model_test;
using coracle_test::model_thread;
using coracle_test::note_end;
using coracle_test::plain_int;
using coracle_test::wait_end;

template <class Event>
detached wait_and_look(Event& event, plain_int& data, int& seen) {
  co_await event;
  seen = data;
}

/// Whoever is let through sees what was written before set().
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
template <class Event>
void two_waiters_one_setter() {
  Event event;
  plain_int data = 0;
  int first = 0, second = 0;
  model_thread setter{[&] {
    data = 7;
    event.set();
  }};
  model_thread waiter{[&] { wait_and_look(event, data, first); }};
  wait_and_look(event, data, second);
  setter.join();
  waiter.join();
  model_expect(first == 7 && second == 7, "both go on");
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
/// One set() lets one through: a second one the other.
void auto_event_lets_one_through() {
  coracle::async_auto_reset_event event;
  int through = 0;
  plain_int data = 0;
  const auto wait = [&]() -> detached {
    co_await event;
    ++data;  // one at a time: a data race otherwise
    ++through;
    event.set();
  };
  model_thread waiter{[&] { wait(); }};
  event.set();
  wait();
  waiter.join();
  model_expect(through == 2, "both go on, one after the other");
}

/// Completion against a stop request: a set() that the cancelled wait has not used is there for the next.
template <class Event, bool StaysSet>
void stop_against_set() {
  Event event;
  stop_source source;
  wait_end end = wait_end::waits, next = wait_end::waits;
  note_end(event, source.get_token(), end);
  model_thread setter{[&] { event.set(); }};
  source.request_stop();
  setter.join();
  model_expect(end != wait_end::waits, "it ends");
  note_end(event, coracle::stop_token{}, next);
  const bool there = StaysSet || end == wait_end::cancelled;
  model_expect(there == (next == wait_end::carried_out), "a set() is used once, and not lost");
  if (!there) event.set();
}
/// A stop request that comes while the wait begins.
template <class Event>
void stop_against_start() {
  Event event;
  stop_source source;
  wait_end end = wait_end::waits;
  model_thread stopper{[&] { source.request_stop(); }};
  note_end(event, source.get_token(), end);
  stopper.join();
  model_expect(end == wait_end::cancelled, "it ends");
}
/// Two waiters, one of which is stopped while one set() comes.
void auto_event_gives_to_the_other() {
  coracle::async_auto_reset_event event;
  stop_source source, never;
  wait_end stopped = wait_end::waits, other = wait_end::waits;
  note_end(event, source.get_token(), stopped);
  note_end(event, never.get_token(), other);
  model_thread stopper{[&] { source.request_stop(); }};
  event.set();
  stopper.join();
  model_expect(stopped != wait_end::waits, "it ends");
  model_expect((stopped == wait_end::cancelled) == (other == wait_end::carried_out), "the set() arrives");
  if (other == wait_end::waits) event.set();
}

void latch_opens() {
  coracle::async_latch latch{2};
  plain_int a = 0, b = 0;
  int sum = 0;
  const auto wait = [&]() -> detached {
    co_await latch;
    sum = a + b;
  };
  model_thread first{[&] {
    a = 1;
    latch.count_down();
  }};
  model_thread second{[&] {
    b = 2;
    latch.count_down();
  }};
  wait();
  first.join();
  second.join();
  model_expect(sum == 3, "opened by the last, with the data of both");
}

void barrier_phases() {
  coracle::async_barrier barrier{2};
  plain_int a = 0, b = 0;
  int seen = 0;
  const auto take_part = [&](plain_int& mine, plain_int& other) -> detached {
    mine = 1;
    co_await barrier.arrive_and_wait();
    seen += other;
    co_await barrier.arrive_and_wait();
    mine = 2;
  };
  model_thread thread{[&] { take_part(a, b); }};
  take_part(b, a);
  thread.join();
  model_expect(seen == 2, "each sees what the other did before the phase ended");
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
  run.check("manual reset: set, two waiters", 2, two_waiters_one_setter<async_manual_reset_event>);
  run.check("manual reset: set and reset against await", run.all, set_reset_and_wait);
  run.check("auto reset: two waiters", run.all, auto_event_lets_one_through);
  run.check("manual reset: stop against set", 3, stop_against_set<async_manual_reset_event, true>);
  run.check("auto reset: stop against set", 3, stop_against_set<async_auto_reset_event, false>);
  run.check("single consumer: stop against set", 3, stop_against_set<single_consumer_event, true>);
  run.check("single consumer, auto reset: stop against set", 3,
            stop_against_set<single_consumer_async_auto_reset_event, false>);
  run.check("manual reset: stop against start", run.all, stop_against_start<async_manual_reset_event>);
  run.check("auto reset: stop against start", run.all, stop_against_start<async_auto_reset_event>);
  run.check("single consumer: stop against start", run.all, stop_against_start<single_consumer_event>);
  run.check("auto reset: stop of one, set for the other", run.all, auto_event_gives_to_the_other);
  run.check("latch: two counts against a wait", 3, latch_opens);
  run.check("barrier: two phases", run.all, barrier_phases);
  return run.finish();
}
