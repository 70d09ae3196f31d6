// tests/stress/manual_reset_event.cpp -- many threads set, reset and await one event.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <barrier>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/one_processor.hpp"
#include "../support/stop_race.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::static_thread_pool;
using coracle_test::detached;

struct totals {
  std::atomic<int> woken{0};
  std::atomic<int> stale{0};  ///< went on without seeing what the setter wrote before set()
};

detached await_once(async_manual_reset_event& event, const int& written, int round, totals& all) {
  co_await event;
  if (written != round) ++all.stale;
  ++all.woken;
}
detached await_on_pool(static_thread_pool& pool, async_manual_reset_event& event, const int& written,
                       int round, totals& all) {
  co_await pool.schedule();
  co_await event;
  if (written != round) ++all.stale;
  ++all.woken;
}

/// In each round three threads start waiters while a fourth sets the event.
void race_waiters_with_one_set(int rounds, totals& all) {
  constexpr int waiting_threads = 3, per_round = 3 * waiting_threads;
  static_thread_pool pool{2};
  int written = -1;
  std::unique_ptr<async_manual_reset_event> event;
  std::barrier step{waiting_threads + 1};
  std::vector<std::thread> threads;
  for (int t = 0; t != waiting_threads; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round != rounds; ++round) {
        step.arrive_and_wait();
        await_once(*event, written, round, all);
        await_on_pool(pool, *event, written, round, all);
        await_once(*event, written, round, all);
        step.arrive_and_wait();
      }
    });
  }
  for (int round = 0; round != rounds; ++round) {
    event = std::make_unique<async_manual_reset_event>();
    step.arrive_and_wait();
    written = round;
    event->set();
    step.arrive_and_wait();
    while (all.woken.load() != (round + 1) * per_round) std::this_thread::yield();
  }
  for (std::thread& each : threads) each.join();
}

/// One await races with one set(), repeatedly.
/// Returns the number of failures.
int race_one_await(int most) {
  std::vector<async_manual_reset_event> events(static_cast<std::size_t>(most));
  const auto event = [&](int i) -> async_manual_reset_event& { return events[static_cast<std::size_t>(i)]; };
  std::vector<int> written(events.size());
  totals all;
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { await_once(event(i), written[static_cast<std::size_t>(i)], i, all); },
      [&](int i) {
        written[static_cast<std::size_t>(i)] = i;
        event(i).set();
      });
  return rounds - all.woken + all.stale;
}

/// Two threads set and reset continually; each awaiting coroutine must complete all its turns.
int churn(int turns) {
  constexpr int coroutines = 8;
  static_thread_pool pool{2};
  async_manual_reset_event event;
  std::atomic<int> passes{0};
  std::atomic<int> running{2 * coroutines};
  const auto pass = [&](bool on_pool) -> detached {
    if (on_pool) co_await pool.schedule();
    for (int i = 0; i != turns; ++i) {
      co_await event;
      passes.fetch_add(1, std::memory_order_relaxed);
    }
    --running;
  };
  std::vector<std::thread> setters;
  for (int t = 0; t != 2; ++t) {
    setters.emplace_back([&] {
      for (int i = 0; i != coroutines / 2; ++i) pass(false);
      while (running.load() != 0) {
        event.set();
        event.reset();
      }
    });
  }
  for (int i = 0; i != coroutines; ++i) pass(true);
  for (std::thread& each : setters) each.join();
  return passes;
}

/// As churn(), but waiters may be stopped. Returns the number of awaits that have not ended.
long long churn_and_stop(int turns) {
  constexpr int coroutines = 6;
  static_thread_pool pool{2};
  async_manual_reset_event event;
  std::atomic<long long> passes{0}, cancelled{0};
  std::atomic<int> running{coroutines};
  coracle_test::stops_at_random stops(coroutines);
  const auto pass = [&](std::size_t me) -> detached {
    if (me % 2 == 0) co_await pool.schedule();
    for (int i = 0; i != turns; ++i) {
      try {
        co_await coracle::with_stop(event, stops.renew(me));
        ++passes;
      } catch (const coracle::operation_cancelled&) {
        ++cancelled;
      }
      if (i % 16 == 0) co_await pool.schedule();
    }
    --running;
  };
  for (std::size_t i = 0; i != coroutines; ++i) pass(i);
  while (running.load() != 0) {
    event.set();
    event.reset();
  }
  return 1LL * coroutines * turns - passes - cancelled;
}

/// A reset() after a set() by the same thread is never lost, even if waiters come and go meanwhile. Returns
/// how often it was lost.
long long reset_while_stopped(int turns) {
  async_manual_reset_event event;
  std::atomic<bool> over{false};
  std::thread comes_and_goes([&] {
    while (!over) {
      coracle::stop_source source;
      std::atomic<coracle_test::ended> how{coracle_test::ended::not_yet};
      coracle_test::note_end(source.get_token(), coracle::get_awaiter(event), how);
      source.request_stop();
      while (how == coracle_test::ended::not_yet) std::this_thread::yield();
    }
  });
  long long lost = 0;
  for (int i = 0; i != turns; ++i) {
    event.set();
    lost += !event.is_set();
    event.reset();
    lost += event.is_set();
  }
  over = true;
  comes_and_goes.join();
  return lost;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("manual_reset_event", argc, argv, 5'000);
  totals all;
  race_waiters_with_one_set(run.int_count(), all);
  run.expect("wake-ups", all.woken.load(), 9LL * run.count());
  run.expect("stale reads", all.stale.load(), 0);
  run.expect("single awaits lost", race_one_await(20 * run.int_count()), 0);
  run.expect("passes while it is set and reset", churn(run.int_count()), 16LL * run.count());
  run.expect("awaits with stops lost", churn_and_stop(run.int_count()), 0);
  run.expect("set() or reset() lost", reset_while_stopped(100 * run.int_count()), 0);
  // A thread that sets and resets is then preempted in the middle of either, and others go on all the same.
  coracle_test::use_one_processor();
  run.expect("lost on one processor", churn_and_stop(run.int_count() / 100), 0);
  return run.finish();
}
