// tests/stress/semaphore.cpp -- permits are neither lost nor duplicated, and are given in order.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stop_race.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::async_semaphore;
using coracle::static_thread_pool;
using coracle_test::detached;

int drain(async_semaphore& semaphore) {
  int permits = 0;
  while (semaphore.try_acquire()) ++permits;
  return permits;
}

struct use {
  std::atomic<long long> turns{0};
  std::atomic<int> inside{0};
  std::atomic<long long> too_many{0};
  long long lost = 0;
};

/// Coroutines of two pools and of two plain threads share a few permits; some keep theirs across a hop.
void share_permits(int permits, int turns, use& found) {
  constexpr int coroutines = 4;
  static_thread_pool first{2}, second{1};
  async_semaphore semaphore{permits};
  std::latch ended{4 * coroutines};
  const auto work = [&](static_thread_pool* pool) -> detached {
    if (pool) co_await pool->schedule();
    for (int i = 0; i != turns; ++i) {
      const auto permit = co_await semaphore.scoped_acquire();
      found.too_many += ++found.inside > permits;
      if (pool && i % 64 == 0) co_await pool->schedule();
      --found.inside;
      ++found.turns;
    }
    ended.count_down();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t != 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i != coroutines; ++i) work(nullptr);
    });
  }
  for (int i = 0; i != coroutines; ++i) {
    work(&first);
    work(&second);
  }
  for (std::thread& each : threads) each.join();
  ended.wait();
  found.lost += permits - drain(semaphore);
}

struct order {
  long long granted = 0;
  long long out_of_order = 0;
};

/// Each thread queues one waiter after another while others release: its waiters are served in that order.
/// The one permit protects plain counters.
order queue_in_order(int turns) {
  constexpr int threads = 3;
  async_semaphore semaphore{1};
  order found;
  int last[threads] = {-1, -1, -1};
  const auto enter = [&](int thread, int number) -> detached {
    co_await semaphore.acquire();
    ++found.granted;
    if (number != last[thread] + 1) ++found.out_of_order;
    last[thread] = number;
    semaphore.release();
  };
  std::vector<std::thread> all;
  for (int t = 0; t != threads; ++t) {
    all.emplace_back([&, t] {
      for (int i = 0; i != turns; ++i) enter(t, i);
    });
  }
  for (std::thread& each : all) each.join();
  return found;
}

/// One acquire() races with one release(), repeatedly; the coroutine that gets the permit deletes the
/// semaphore immediately, while release() may not have returned. Returns how often a write before release()
/// was not visible.
long long release_and_forget(int most) {
  struct signal {
    async_semaphore done{0};
    int written = 0;
  };
  std::vector<signal*> signals(static_cast<std::size_t>(most));
  for (signal*& each : signals) each = new signal;
  std::atomic<long long> arrived{0};
  const auto wait = [&](signal* mine) -> detached {
    const std::unique_ptr<signal> owner{mine};
    co_await owner->done.acquire();
    arrived += owner->written;
  };
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { wait(signals[static_cast<std::size_t>(i)]); },
      [&](int i) {
        signal* const each = signals[static_cast<std::size_t>(i)];
        each->written = 1;
        each->done.release();
      });
  for (int i = rounds; i != most; ++i) delete signals[static_cast<std::size_t>(i)];
  return rounds - arrived;
}

/// Two threads release several permits at a time, two acquire single permits, one of them without waiting.
long long release_many(int turns) {
  constexpr int at_once = 3;
  async_semaphore semaphore{0};
  std::atomic<long long> acquired{0};
  const auto wait = [&]() -> detached {
    co_await semaphore.acquire();
    ++acquired;
  };
  std::vector<std::thread> all;
  for (int t = 0; t != 2; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i != turns; ++i) semaphore.release(at_once);
    });
    all.emplace_back([&, t] {
      for (int i = 0; i != at_once * turns; ++i) {
        if (t == 0) {
          wait();
        } else {
          while (!semaphore.try_acquire()) std::this_thread::yield();
          ++acquired;
        }
      }
    });
  }
  for (std::thread& each : all) each.join();
  return acquired + drain(semaphore);
}

/// Waiters that are stopped at any time. Returns the difference between permits and turns.
long long stop_some(int permits, int turns) {
  constexpr int coroutines = 5;
  static_thread_pool pool{2};
  async_semaphore semaphore{permits};
  std::atomic<long long> granted{0}, cancelled{0}, too_many{0};
  std::atomic<int> inside{0};
  std::latch ended{coroutines};
  coracle_test::stops_at_random stops(coroutines);
  const auto work = [&](std::size_t me) -> detached {
    co_await pool.schedule();
    for (int i = 0; i != turns; ++i) {
      try {
        co_await coracle::with_stop(semaphore.acquire(), stops.renew(me));
        ++granted;
      } catch (const coracle::operation_cancelled&) {
        ++cancelled;
        continue;
      }
      too_many += ++inside > permits;
      if (i % 16 == 0) co_await pool.schedule();
      --inside;
      semaphore.release();
    }
    ended.count_down();
  };
  for (std::size_t i = 0; i != coroutines; ++i) work(i);
  ended.wait();
  return too_many + (granted + cancelled != 1LL * coroutines * turns) + (drain(semaphore) != permits);
}

struct first_permit_round {
  void start() { coracle_test::note_end(stop.get_token(), semaphore.acquire(), end); }
  void complete() { semaphore.release(); }
  bool intact() { return drain(semaphore) == (end == coracle_test::ended::carried_out ? 0 : 1); }
  async_semaphore semaphore{0};
  coracle::stop_source stop;
  std::atomic<coracle_test::ended> end{coracle_test::ended::not_yet};
};

struct permit_round : coracle_test::two_waiters {
  permit_round() {
    coracle_test::note_end(stop.get_token(), semaphore.acquire(), first);
    coracle_test::note_end({}, semaphore.acquire(), second);
  }
  void complete() { semaphore.release(); }
  void finish() {
    if (second == coracle_test::ended::not_yet) semaphore.release();
  }
  async_semaphore semaphore{0};
};
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("semaphore", argc, argv, 10'000);
  use found;
  share_permits(1, run.int_count(), found);
  share_permits(3, run.int_count(), found);
  run.expect("turns", found.turns.load(), 32LL * run.count());
  run.expect("too many at once", found.too_many.load(), 0);
  run.expect("permits lost", found.lost, 0);
  const order served = queue_in_order(run.int_count());
  run.expect("permits in order", served.granted, 3LL * run.count());
  run.expect("out of order", served.out_of_order, 0);
  run.expect("single hand-overs wrong", release_and_forget(10 * run.int_count()), 0);
  run.expect("permits of many at once", release_many(run.int_count()), 6LL * run.count());
  run.expect("turns with stops wrong", stop_some(1, run.int_count()) + stop_some(2, run.int_count()), 0);
  run.expect("stops against release() wrong", coracle_test::race_a_stop<permit_round>(5 * run.int_count()),
             0);
  run.expect("acquires against release() and a stop wrong",
             coracle_test::race_a_start<first_permit_round>(20 * run.int_count()), 0);
  return run.finish();
}
