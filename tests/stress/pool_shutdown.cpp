// tests/stress/pool_shutdown.cpp -- pools that are destroyed at random times lose no work.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <random>
#include <thread>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::static_thread_pool;
using coracle_test::detached;

detached hop(static_thread_pool& pool, unsigned hops, std::atomic<long long>& ended) {
  for (unsigned i = 0; i != hops; ++i) co_await pool.schedule();
  ended.fetch_add(1, std::memory_order_relaxed);
}
detached multiply(static_thread_pool& pool, unsigned children, std::atomic<long long>& ended) {
  co_await pool.schedule();
  for (unsigned i = 0; i != children; ++i) hop(pool, 1 + i % 3, ended);
  ended.fetch_add(1, std::memory_order_relaxed);
}

/// Ends `later` as soon as its last coroutine has arrived, while the thread that posted it may still be
/// inside post(): that thread belongs to another pool, which continues to run.
long long end_after_arrival(unsigned turns) {
  static_thread_pool earlier{1};
  long long arrived = 0;
  const auto travel = [&](static_thread_pool& later) -> coracle::task<> {
    co_await earlier.schedule();
    co_await later.schedule();
    ++arrived;
  };
  for (unsigned i = 0; i != turns; ++i) {
    static_thread_pool later{1};
    coracle::sync_wait(travel(later));
  }
  return arrived;
}

/// Posts once more and destroys the pool immediately, at every step of its thread's way to sleep.
long long post_at_the_end(int turns) {
  long long ran = 0;
  std::atomic<int> answered{0};
  for (int i = 0; i != turns; ++i) {
    static_thread_pool pool{1};
    const auto answer = [&](int number) -> detached {
      co_await pool.schedule();
      ++ran;
      answered.store(number, std::memory_order_release);
    };
    answer(i + 1);
    while (answered.load(std::memory_order_acquire) != i + 1) std::this_thread::yield();
    coracle_test::hold_up(static_cast<int>(7919LL * i % 200'000));
    answer(-1);
  }
  return ran;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("pool_shutdown", argc, argv, 1000);
  std::mt19937 random(1);
  const auto below = [&random](unsigned limit) { return static_cast<unsigned>(random() % limit); };
  std::atomic<long long> ended{0};
  long long started = 0;
  for (unsigned i = 0; i != run.count(); ++i) {
    static_thread_pool pool{1 + below(4)};
    const unsigned coroutines = below(40), children = i % 10 == 0 ? 600 : below(10);
    for (unsigned c = 0; c != coroutines; ++c) hop(pool, below(20), ended);
    multiply(pool, children, ended);
    started += coroutines + children + 1;
    for (unsigned pause = below(4); pause != 0; --pause) std::this_thread::yield();
  }
  run.expect("coroutines ended", ended.load(), started);
  run.expect("arrivals before the end", end_after_arrival(2 * run.count()), 2 * run.count());
  run.expect("posts, every second one at the end", post_at_the_end(3 * run.int_count()), 6 * run.count());
  return run.finish();
}
