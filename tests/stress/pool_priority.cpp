// tests/stress/pool_priority.cpp -- the priorities of a pool: none loses a coroutine or a wake-up.
// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using priority = coracle::static_thread_pool::priority;
using coracle::static_thread_pool;
using coracle::sync_wait;
using coracle::task;
using coracle_test::detached;

constexpr std::array levels{priority::high, priority::normal, priority::low};
priority level_of(int i) { return levels[static_cast<std::size_t>(i) % levels.size()]; }

/// Coroutines that move from one priority to another.
long long climb(std::size_t threads, int coroutines, int turns) {
  static_thread_pool pool{threads};
  std::atomic<long long> arrivals{0};
  const auto work = [&](int me) -> task<> {
    long long mine = 0;
    for (int i = 0; i != turns; ++i) {
      const coracle::pool_level place = pool.with_priority(level_of(me + i));
      co_await place.schedule();
      mine += coracle::current_executor() == place.place();
      if (i % 3 == 0) co_await coracle::this_task::yield();
    }
    arrivals += mine;
  };
  std::vector<task<>> all;
  for (int i = 0; i != coroutines; ++i) all.push_back(work(i));
  sync_wait(coracle::when_all(std::move(all)));
  return arrivals;
}

/// Coroutines of all priorities share a mutex: each is woken at its own priority.
long long share_a_mutex(int turns) {
  static_thread_pool pool{3};
  coracle::async_mutex mutex;
  long long right = 0;
  const auto work = [&](int me) -> task<> {
    const coracle::pool_level place = pool.with_priority(level_of(me));
    co_await place.schedule();
    for (int i = 0; i != turns; ++i) {
      const auto lock = co_await mutex.scoped_lock_async();
      right += coracle::current_executor() == place.place();
    }
  };
  std::vector<task<>> all;
  for (int i = 0; i != 6; ++i) all.push_back(work(i));
  sync_wait(coracle::when_all(std::move(all)));
  return right;
}

/// One post at a time, at every step of a thread's way to sleep, mostly at the priority that it checks last.
long long post_while_falling_asleep(std::size_t threads, int posts) {
  static_thread_pool pool{threads};
  std::atomic<int> answered{0};
  const auto answer = [&](int number) -> detached {
    const auto level = number % 4 == 0 ? priority::high : priority::low;
    co_await pool.with_priority(level).schedule();
    answered.store(number + 1, std::memory_order_release);
  };
  coracle_test::post_one_by_one(posts, 300'000, answered, answer);
  return answered;
}

/// The same from a thread of the pool that stays busy: another thread must take the work.
long long post_from_a_busy_thread(int posts) {
  static_thread_pool pool{2};
  std::atomic<int> answered{0};
  const auto answer = [&](int number) -> detached {
    const auto level = number % 2 == 0 ? priority::high : priority::low;
    co_await pool.with_priority(level).schedule();
    answered.store(number + 1, std::memory_order_release);
  };
  const auto stay_busy = [&]() -> task<> {
    co_await pool.schedule();
    coracle_test::post_one_by_one(posts, 300'000, answered, answer);
  };
  sync_wait(stay_busy());
  return answered;
}

/// Posts at all priorities from outside, until the end of the pool.
long long end_with_work(int rounds) {
  std::atomic<long long> ran{0};
  const auto work = [&](static_thread_pool& pool, int me) -> detached {
    co_await pool.with_priority(level_of(me)).schedule();
    ++ran;
  };
  for (int i = 0; i != rounds; ++i) {
    static_thread_pool pool{2};
    for (int each = 0; each != 9; ++each) work(pool, each);
  }
  return ran;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("pool_priority", argc, argv, 100'000);
  const int count = run.int_count();
  run.expect("arrivals of 6 on 2 threads", climb(2, 6, count), 6LL * count);
  run.expect("arrivals of 100 on 3 threads", climb(3, 100, count / 20), 100LL * (count / 20));
  run.expect("turns with a mutex", share_a_mutex(count / 2), 6LL * (count / 2));
  run.expect("single posts to 1 thread", post_while_falling_asleep(1, count / 20), count / 20);
  run.expect("single posts to 2 threads", post_while_falling_asleep(2, count / 20), count / 20);
  run.expect("posts from a busy thread", post_from_a_busy_thread(count / 50), count / 50);
  run.expect("run before the end", end_with_work(count / 500), 9LL * (count / 500));
  return run.finish();
}
