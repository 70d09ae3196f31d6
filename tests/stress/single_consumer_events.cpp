// tests/stress/single_consumer_events.cpp -- one coroutine waits, many threads set.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/single_consumer_async_auto_reset_event.hpp>
#include <coracle/sync/single_consumer_event.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/lets_through.hpp"
#include "../support/one_after_another.hpp"
#include "../support/stop_race.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::single_consumer_async_auto_reset_event;
using coracle::single_consumer_event;
using coracle::static_thread_pool;
using coracle_test::detached;

template <class Event>
struct meeting {
  int written = 0;
  std::unique_ptr<Event> event = std::make_unique<Event>();
  void write_and_set() {
    written = 1;
    event->set();
  }
};
template <class Event>
detached wait_and_destroy(meeting<Event>& each, std::atomic<long long>& passes) {
  co_await *each.event;
  each.event.reset();
  passes += each.written;
}

/// One await races with one set(); the waiter destroys the event immediately. Returns the number of failures.
template <class Event>
long long race_one_await(int most) {
  std::vector<meeting<Event>> meetings(static_cast<std::size_t>(most));
  std::atomic<long long> passes{0};
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { wait_and_destroy(meetings[static_cast<std::size_t>(i)], passes); },
      [&](int i) { meetings[static_cast<std::size_t>(i)].write_and_set(); });
  return rounds - passes;
}

/// The same, with a long delay between the two.
template <class Event>
long long await_and_set(int events, bool set_first) {
  std::vector<meeting<Event>> meetings(static_cast<std::size_t>(events));
  std::atomic<long long> passes{0};
  const auto wait = [&](int i) { wait_and_destroy(meetings[static_cast<std::size_t>(i)], passes); };
  const auto set = [&](int i) { meetings[static_cast<std::size_t>(i)].write_and_set(); };
  if (set_first) {
    coracle_test::one_after_another(events, set, wait);
  } else {
    coracle_test::one_after_another(events, wait, set);
  }
  return events - passes;
}

/// The same, but the waiter calls await_ready() before the set() and suspends after it.
template <class Event>
long long set_and_suspend(int events) {
  std::vector<meeting<Event>> meetings(static_cast<std::size_t>(events));
  long long passes = 0;
  const auto set = [&](int i) { meetings[static_cast<std::size_t>(i)].write_and_set(); };
  const auto suspend = [&](int i) {
    meeting<Event>& each = meetings[static_cast<std::size_t>(i)];
    auto waiting = coracle::get_awaiter(*each.event);
    if (waiting.await_suspend(std::noop_coroutine())) return;
    waiting.await_resume();
    each.event.reset();
    passes += each.written;
  };
  coracle_test::one_after_another(events, set, suspend);
  return events - passes;
}

/// Two coroutines on two pools, or both outside, pass a plain counter back and forth.
template <class Event, class Reset>
long long ping_pong(bool on_pools, int turns, Reset reset) {
  static_thread_pool pools[2] = {static_thread_pool{1}, static_thread_pool{1}};
  Event turn[2];
  single_consumer_event over;
  long long counter = 0;
  const auto play = [&](int me) -> detached {
    if (on_pools) co_await pools[me].schedule();
    for (int i = 0; i != turns; ++i) {
      co_await turn[me];
      reset(turn[me]);
      ++counter;
      turn[1 - me].set();
    }
    if (me == 1) over.set();
  };
  play(0);
  play(1);
  turn[0].set();
  coracle::sync_wait(over);
  return counter;
}

/// Threads add to a sum and set the event after each; a consumer on a pool waits until it is complete. A lost
/// wake-up is a deadlock. Returns the sum.
long long produce(int turns) {
  constexpr int producers = 3;
  static_thread_pool pool{1};
  single_consumer_async_auto_reset_event added;
  single_consumer_event complete;
  std::atomic<long long> sum{0};
  const auto consume = [&]() -> detached {
    co_await pool.schedule();
    for (long long now = 0; now != producers * turns; now = sum.load(std::memory_order_relaxed)) {
      co_await added;
    }
    complete.set();
  };
  consume();
  std::vector<std::thread> threads;
  for (int t = 0; t != producers; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i != turns; ++i) {
        sum.fetch_add(1, std::memory_order_relaxed);
        added.set();
      }
    });
  }
  for (std::thread& each : threads) each.join();
  coracle::sync_wait(complete);
  return sum;
}

/// Two concurrent set() while the consumer waits: one wakes it, the other is kept for its next await. Returns
/// the number of failures.
long long race_two_sets(int most) {
  struct doubly_set {
    single_consumer_async_auto_reset_event event;
    int passes = 0;
  };
  std::vector<doubly_set> all(static_cast<std::size_t>(most));
  const auto wait = [](doubly_set& each) -> detached {
    co_await each.event;
    ++each.passes;
  };
  for (doubly_set& each : all) wait(each);
  const auto set = [&](int i) { all[static_cast<std::size_t>(i)].event.set(); };
  const int rounds = coracle_test::side_by_side(most, set, set);
  long long wrong = 0;
  for (int i = 0; i != most; ++i) {
    doubly_set& each = all[static_cast<std::size_t>(i)];
    if (i >= rounds) {
      each.event.set();
    } else {
      wrong += each.passes != 1 || !coracle_test::lets_through(each.event);
    }
  }
  return wrong;
}

/// One thread sets the event, then another, then the consumer awaits: if it gets both set() as one, it must
/// see what both threads wrote. Returns the number of failures.
long long merge_two_sets(int rounds) {
  struct doubly_set {
    int written[2] = {};
    single_consumer_async_auto_reset_event event;
    void write_and_set(int side) {
      written[side] = 1;
      event.set();
    }
  };
  std::vector<doubly_set> all(static_cast<std::size_t>(rounds));
  const auto at = [&](int i) -> doubly_set& { return all[static_cast<std::size_t>(i)]; };
  long long wrong = 0;
  const auto consume = [&](int i) {
    const bool passed = coracle_test::lets_through(at(i).event);
    const bool saw_both = at(i).written[0] + at(i).written[1] == 2;
    wrong += !passed || (!saw_both && !coracle_test::lets_through(at(i).event));
  };
  coracle_test::one_after_another(
      rounds, [&](int i) { at(i).write_and_set(0); }, [&](int i) { at(i).write_and_set(1); }, consume);
  return wrong;
}

/// The consumer is stopped at any time while threads set the event. A lost set() is a deadlock. Returns the
/// sum.
template <class Event>
long long produce_and_stop(int turns) {
  constexpr int producers = 2;
  static_thread_pool pool{1};
  Event added;
  single_consumer_event complete;
  std::atomic<long long> sum{0};
  coracle_test::stops_at_random stops(1);
  const auto consume = [&]() -> detached {
    co_await pool.schedule();
    for (long long seen = 0; seen != producers * turns; seen = sum.load(std::memory_order_relaxed)) {
      try {
        co_await coracle::with_stop(added, stops.renew(0));
        if constexpr (requires { added.reset(); }) added.reset();
      } catch (const coracle::operation_cancelled&) {
      }
    }
    complete.set();
  };
  consume();
  std::vector<std::thread> threads;
  for (int t = 0; t != producers; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i != turns; ++i) {
        sum.fetch_add(1, std::memory_order_relaxed);
        added.set();
      }
    });
  }
  for (std::thread& each : threads) each.join();
  coracle::sync_wait(complete);
  return sum;
}

/// One stop request races with one set(): either the waiter wakes, or the set() is kept for the next one.
/// Returns the number of failures.
template <class Event>
long long race_a_stop(int most) {
  struct round {
    coracle::stop_source stop;
    Event event;
    std::atomic<coracle_test::ended> how{coracle_test::ended::not_yet};
  };
  std::vector<round> rounds(static_cast<std::size_t>(most));
  const auto at = [&](int i) -> round& { return rounds[static_cast<std::size_t>(i)]; };
  for (round& each : rounds) {
    coracle_test::note_end(each.stop.get_token(), coracle::get_awaiter(each.event), each.how);
  }
  const int done = coracle_test::side_by_side(
      most,
      [&](int i) {
        coracle_test::hold_up(i / 128 % 300);
        at(i).event.set();
      },
      [&](int i) { at(i).stop.request_stop(); });
  constexpr bool stays_set = requires(Event& event) { event.is_set(); };
  long long wrong = 0;
  for (int i = 0; i != most; ++i) {
    round& each = at(i);
    if (i >= done) each.event.set();
    const bool cancelled = each.how == coracle_test::ended::cancelled;
    wrong += each.how == coracle_test::ended::not_yet;
    wrong += coracle_test::lets_through(each.event) != (cancelled || stays_set);
  }
  return wrong;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("single_consumer_events", argc, argv, 5'000);
  const int n = run.int_count();
  using manual = single_consumer_event;
  using automatic = single_consumer_async_auto_reset_event;
  const auto reset = [](manual& event) { event.reset(); };
  const auto keep = [](automatic&) {};
  run.expect("single awaits wrong", race_one_await<manual>(10 * n) + race_one_await<automatic>(10 * n), 0);
  run.expect("early awaits wrong", await_and_set<manual>(n, false) + await_and_set<automatic>(n, false), 0);
  run.expect("late awaits wrong", await_and_set<manual>(n, true) + await_and_set<automatic>(n, true), 0);
  run.expect("late suspends wrong", set_and_suspend<manual>(n) + set_and_suspend<automatic>(n), 0);
  run.expect("turns", ping_pong<manual>(true, n, reset), 2 * n);
  run.expect("turns outside", ping_pong<manual>(false, n, reset), 2 * n);
  run.expect("turns auto-reset", ping_pong<automatic>(true, n, keep), 2 * n);
  run.expect("added", produce(5 * n), 15 * n);
  run.expect("pairs of sets wrong", race_two_sets(10 * n), 0);
  run.expect("merged sets wrong", merge_two_sets(n), 0);
  run.expect("added with stops", produce_and_stop<automatic>(n) + produce_and_stop<manual>(n), 4LL * n);
  run.expect("stops against set() wrong", race_a_stop<manual>(10 * n) + race_a_stop<automatic>(10 * n), 0);
  return run.finish();
}
