// tests/stress/pool.cpp -- hops in one pool, between two pools, and from outside.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::task;
using coracle_test::detached;

/// Makes `total` hops with coroutines that never leave the pool.
long long hop(std::size_t threads, int coroutines, int total) {
  static_thread_pool pool{threads};
  std::atomic<long long> hops{0};
  const auto work = [&](int turns) -> task<> {
    long long mine = 0;
    for (int i = 0; i != turns; ++i) {
      co_await pool.schedule();
      mine += coracle::current_executor() == &pool;
    }
    hops += mine;
  };
  std::vector<task<>> all;
  for (int i = 0; i != coroutines; ++i) all.push_back(work(total / coroutines));
  coracle::sync_wait(coracle::when_all(std::move(all)));
  return hops;
}

/// Coroutines that move back and forth between two pools.
long long travel(int turns) {
  static_thread_pool first{2}, second{1};
  std::atomic<long long> arrivals{0};
  const auto work = [&]() -> task<> {
    long long mine = 0;
    for (int i = 0; i != turns; ++i) {
      co_await first.schedule();
      mine += coracle::current_executor() == &first;
      co_await second.schedule();
      mine += coracle::current_executor() == &second;
    }
    arrivals += mine;
  };
  std::vector<task<>> all;
  for (int i = 0; i != 3; ++i) all.push_back(work());
  coracle::sync_wait(coracle::when_all(std::move(all)));
  return arrivals;
}

/// Four plain threads post, with occasional pauses in which the pool falls asleep.
long long post_from_outside(int posts) {
  constexpr int threads = 4;
  static_thread_pool pool{2};
  std::atomic<int> ran{0};
  const auto work = [&](std::atomic<int>& mine) -> detached {
    co_await pool.schedule();
    ++ran;
    --mine;
  };
  std::vector<std::thread> all;
  for (int t = 0; t != threads; ++t) {
    all.emplace_back([&] {
      std::atomic<int> open{0};
      for (int i = 0; i != posts; ++i) {
        ++open;
        work(open);
        if (i % 50 == 0) {
          while (open.load() != 0) std::this_thread::yield();
        }
      }
      while (open.load() != 0) std::this_thread::yield();
    });
  }
  for (std::thread& each : all) each.join();
  return ran;
}

constexpr int longest_pause = 300'000;  // enough for a pool's threads to fall asleep

/// One post at a time, at every step of a pool thread's way to sleep.
long long post_while_falling_asleep(std::size_t threads, int posts) {
  static_thread_pool pool{threads};
  std::atomic<int> answered{0};
  const auto answer = [&](int number) -> detached {
    co_await pool.schedule();
    answered.store(number + 1, std::memory_order_release);
  };
  coracle_test::post_one_by_one(posts, longest_pause, answered, answer);
  return answered;
}

/// The same from a thread of the pool that stays busy: the other thread must take the work.
long long post_from_a_busy_thread(int posts) {
  static_thread_pool pool{2};
  std::atomic<int> answered{0};
  const auto answer = [&](int number) -> detached {
    co_await pool.schedule();
    answered.store(number + 1, std::memory_order_release);
  };
  const auto stay_busy = [&]() -> task<> {
    co_await pool.schedule();
    coracle_test::post_one_by_one(posts, longest_pause, answered, answer);
  };
  coracle::sync_wait(stay_busy());
  return answered;
}

/// The same after many hops for each of which the other thread came too late, so that it naps: at every step
/// of its nap, and of its way to sleep.
long long post_behind_hops(std::size_t threads, int posts) {
  static_thread_pool pool{threads};
  std::atomic<int> answered{0};
  const auto answer = [&](int number) -> detached {
    co_await pool.schedule();
    answered.store(number + 1, std::memory_order_release);
  };
  const auto hop_and_post = [&]() -> task<> {
    for (int number = 0; number != posts; ++number) {
      for (int i = 0; i != number * 37 % 20'000; ++i) co_await pool.schedule();
      answer(number);
      while (answered.load(std::memory_order_acquire) != number + 1) std::this_thread::yield();
    }
  };
  coracle::sync_wait(hop_and_post());
  return answered;
}

/// A busy thread posts two coroutines that wait for each other: the thread that is woken must wake another
/// one.
long long post_pairs_from_a_busy_thread(int pairs) {
  std::atomic<int> arrived{0}, answered{0};
  std::optional<static_thread_pool> pool{3};
  const auto meet = [&](int number) -> detached {
    co_await pool->schedule();
    ++arrived;
    while (arrived.load() < 2 * (number + 1)) std::this_thread::yield();
    answered.store(number + 1, std::memory_order_release);
  };
  const auto stay_busy = [&]() -> task<> {
    co_await pool->schedule();
    coracle_test::post_one_by_one(pairs, longest_pause, answered, [&](int number) {
      meet(number);
      meet(number);
    });
  };
  coracle::sync_wait(stay_busy());
  pool.reset();  // the last pair still uses `meet`
  return answered;
}

/// Only one coroutine at a time has work: each wake-up finds all other threads asleep or falling asleep.
long long relay(int turns) {
  static_thread_pool pool{3};
  coracle::async_auto_reset_event baton[2];
  long long handed = 0;
  const auto run = [&](int me) -> task<> {
    co_await pool.schedule();
    for (int i = 0; i != turns; ++i) {
      co_await baton[me];
      ++handed;
      co_await pool.schedule();
      baton[1 - me].set();
    }
  };
  baton[0].set();
  coracle::sync_wait(coracle::when_all(run(0), run(1)));
  return handed;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("pool", argc, argv, 1'000'000);
  const int count = run.int_count() / 1000 * 1000;
  run.expect("hops of 8 coroutines on 2 threads", hop(2, 8, count), count);
  run.expect("hops of 1000 coroutines on 3 threads", hop(3, 1000, count), count);
  run.expect("arrivals between two pools", travel(count / 60), 6LL * (count / 60));
  run.expect("posts from 4 threads", post_from_outside(count / 40), 4LL * (count / 40));
  const int single = count / 500;
  run.expect("single posts to 1 thread", post_while_falling_asleep(1, single), single);
  run.expect("single posts to 2 threads", post_while_falling_asleep(2, single), single);
  run.expect("posts from a busy thread", post_from_a_busy_thread(single), single);
  run.expect("posts behind hops, of 2 threads", post_behind_hops(2, single / 4), single / 4);
  run.expect("posts behind hops, of 3 threads", post_behind_hops(3, single / 4), single / 4);
  run.expect("pairs from a busy thread", post_pairs_from_a_busy_thread(single / 4), single / 4);
  run.expect("batons", relay(count / 100), 2LL * (count / 100));
  return run.finish();
}
