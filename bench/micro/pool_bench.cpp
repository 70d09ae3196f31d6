// bench/micro/pool_bench.cpp -- moving a coroutine to a pool, and from one pool to another.
// SPDX-License-Identifier: MIT
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/static_thread_pool.hpp>

#include "measure.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::task;

task<> hop(static_thread_pool& pool, long n) {
  for (long i = 0; i < n; ++i) co_await pool.schedule();
}
void measure_hops(benchmark::State& state, std::size_t threads) {
  static_thread_pool pool{threads};
  coracle_bench::measure(state, 1'000'000, [&pool](long n) { coracle::sync_wait(hop(pool, n)); });
}
void hop_pool_of_1(benchmark::State& state) { measure_hops(state, 1); }
void hop_pool_of_2(benchmark::State& state) { measure_hops(state, 2); }

task<> ping_pong(static_thread_pool& one, static_thread_pool& other, long n) {
  for (long i = 0; i < n; ++i) {
    co_await one.schedule();
    co_await other.schedule();
  }
}
void ping_pong_two_pools(benchmark::State& state) {
  static_thread_pool one{1}, other{1};
  coracle_bench::measure_each(state, 20'000, 2,
                              [&](long n) { coracle::sync_wait(ping_pong(one, other, n)); });
}

/// One call of a recursion whose two branches may run at the same time.
task<long> fibonacci(static_thread_pool& pool, long n) {
  if (n < 2) co_return n;
  const auto [a, b] =
      co_await coracle::when_all(coracle::schedule_on(pool, fibonacci(pool, n - 1)), fibonacci(pool, n - 2));
  co_return a + b;
}
void fork_join_pool_of_2(benchmark::State& state) {
  constexpr long calls = 3193;  // of fibonacci(16) and below
  static_thread_pool pool{2};
  coracle_bench::measure_each(state, 20, calls, [&pool](long n) {
    for (long i = 0; i < n; ++i) {
      benchmark::DoNotOptimize(coracle::sync_wait(coracle::schedule_on(pool, fibonacci(pool, 16))));
    }
  });
}

/// By a coroutine that is at that level.
task<> yield(coracle::scheduler_ref level, long n) {
  co_await level.schedule();
  for (long i = 0; i < n; ++i) co_await coracle::this_task::yield();
}
void hop_high_pool_of_1(benchmark::State& state) {
  static_thread_pool pool{1};
  coracle_bench::measure(state, 1'000'000, [&pool](long n) {
    coracle::sync_wait(yield(pool.with_priority(coracle::priority::high), n));
  });
}

CORACLE_BENCH(hop_pool_of_1);
CORACLE_BENCH(hop_pool_of_2);
CORACLE_BENCH(ping_pong_two_pools);
CORACLE_BENCH(fork_join_pool_of_2);
CORACLE_BENCH(hop_high_pool_of_1);
}  // namespace
