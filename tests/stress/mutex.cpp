// tests/stress/mutex.cpp -- a plain counter behind an async_mutex, and the order of its holders.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <latch>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stop_race.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::async_mutex;
using coracle::static_thread_pool;
using coracle_test::detached;

/// Coroutines of two pools and of two plain threads count under one lock; some hold it across a hop.
long long count_under_lock(int turns) {
  constexpr int coroutines = 4;
  static_thread_pool first{2}, second{1};
  async_mutex mutex;
  long long counter = 0;
  std::latch ended{4 * coroutines};
  const auto count = [&](static_thread_pool* pool) -> detached {
    if (pool) co_await pool->schedule();
    for (int i = 0; i != turns; ++i) {
      const auto lock = co_await mutex.scoped_lock_async();
      const long long before = counter;
      if (pool && i % 64 == 0) co_await pool->schedule();
      counter = before + 1;
    }
    ended.count_down();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t != 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i != coroutines; ++i) count(nullptr);
    });
  }
  for (int i = 0; i != coroutines; ++i) {
    count(&first);
    count(&second);
  }
  for (std::thread& each : threads) each.join();
  ended.wait();
  return counter;
}

struct order {
  long long granted = 0;
  long long out_of_order = 0;
};

/// Each thread queues one waiter after another while others unlock: its waiters get the lock in that order.
order queue_in_order(int turns) {
  constexpr int threads = 3;
  async_mutex mutex;
  order found;
  int last[threads] = {-1, -1, -1};
  const auto enter = [&](int thread, int number) -> detached {
    co_await mutex.lock_async();
    ++found.granted;
    if (number != last[thread] + 1) ++found.out_of_order;
    last[thread] = number;
    mutex.unlock();
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

/// One lock_async() races with one unlock(), repeatedly. Returns the number of failures.
long long race_one_unlock(int most) {
  std::vector<async_mutex> mutexes(static_cast<std::size_t>(most));
  std::vector<int> counters(mutexes.size());
  for (async_mutex& each : mutexes) static_cast<void>(each.try_lock());
  const auto wait = [&](std::size_t i) -> detached {
    const auto lock = co_await mutexes[i].scoped_lock_async();
    ++counters[i];
  };
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { wait(static_cast<std::size_t>(i)); },
      [&](int i) {
        ++counters[static_cast<std::size_t>(i)];
        mutexes[static_cast<std::size_t>(i)].unlock();
      });
  long long wrong = 0;
  for (std::size_t i = 0; i != mutexes.size(); ++i) {
    const bool raced = i < static_cast<std::size_t>(rounds), is_free = !raced || mutexes[i].try_lock();
    wrong += !is_free || counters[i] != (raced ? 2 : 0);
    if (is_free) mutexes[i].unlock();
  }
  return wrong;
}

/// try_lock() and unlock() by plain threads among waiting coroutines.
long long try_and_wait(int turns) {
  async_mutex mutex;
  long long counter = 0;
  const auto wait = [&]() -> detached {
    co_await mutex.lock_async();
    ++counter;
    mutex.unlock();
  };
  std::vector<std::thread> all;
  for (int t = 0; t != 3; ++t) {
    all.emplace_back([&, t] {
      for (int i = 0; i != turns; ++i) {
        if (t == 0) {
          wait();
        } else {
          while (!mutex.try_lock()) std::this_thread::yield();
          ++counter;
          mutex.unlock();
        }
      }
    });
  }
  for (std::thread& each : all) each.join();
  return counter;
}

/// Waiters that are stopped at any time: each either gets the lock, or is cancelled. Returns the difference
/// between turns and increments.
long long stop_some(int turns) {
  constexpr int coroutines = 5;
  static_thread_pool pool{2};
  async_mutex mutex;
  long long counter = 0;
  std::atomic<long long> granted{0}, cancelled{0};
  std::latch ended{coroutines};
  coracle_test::stops_at_random stops(coroutines);
  const auto work = [&](std::size_t me) -> detached {
    co_await pool.schedule();
    for (int i = 0; i != turns; ++i) {
      try {
        co_await coracle::with_stop(mutex.lock_async(), stops.renew(me));
        ++granted;
      } catch (const coracle::operation_cancelled&) {
        ++cancelled;
        continue;
      }
      const long long before = counter;
      if (i % 16 == 0) co_await pool.schedule();
      counter = before + 1;
      mutex.unlock();
    }
    ended.count_down();
  };
  for (std::size_t i = 0; i != coroutines; ++i) work(i);
  ended.wait();
  const bool is_free = mutex.try_lock();
  if (is_free) mutex.unlock();
  return (granted != counter) + (granted + cancelled != 1LL * coroutines * turns) + !is_free;
}

struct first_lock_round {
  first_lock_round() { static_cast<void>(mutex.try_lock()); }
  void start() { coracle_test::note_end(stop.get_token(), mutex.lock_async(), end); }
  void complete() { mutex.unlock(); }
  bool intact() {
    const bool held = !mutex.try_lock();
    mutex.unlock();
    return held == (end == coracle_test::ended::carried_out);
  }
  async_mutex mutex;
  coracle::stop_source stop;
  std::atomic<coracle_test::ended> end{coracle_test::ended::not_yet};
};

struct lock_round : coracle_test::two_waiters {
  lock_round() {
    static_cast<void>(mutex.try_lock());
    coracle_test::note_end(stop.get_token(), mutex.lock_async(), first);
    coracle_test::note_end({}, mutex.lock_async(), second);
  }
  void complete() { mutex.unlock(); }
  void finish() {
    mutex.unlock();
    if (first == coracle_test::ended::carried_out) mutex.unlock();
  }
  async_mutex mutex;
};
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("mutex", argc, argv, 20'000);
  run.expect("increments", count_under_lock(run.int_count()), 16LL * run.count());
  const order found = queue_in_order(run.int_count());
  run.expect("locks in order", found.granted, 3LL * run.count());
  run.expect("out of order", found.out_of_order, 0);
  run.expect("single hand-overs wrong", race_one_unlock(10 * run.int_count()), 0);
  run.expect("locks beside try_lock", try_and_wait(run.int_count()), 3LL * run.count());
  run.expect("turns with stops wrong", stop_some(run.int_count() / 4), 0);
  run.expect("stops against unlock() wrong", coracle_test::race_a_stop<lock_round>(5 * run.int_count()), 0);
  run.expect("locks against unlock() and a stop wrong",
             coracle_test::race_a_start<first_lock_round>(10 * run.int_count()), 0);
  return run.finish();
}
