// bench/micro/pool_bench.cpp -- moving a coroutine to a pool, and from one pool to another.
// SPDX-License-Identifier: MIT
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
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

CORACLE_BENCH(hop_pool_of_1);
CORACLE_BENCH(hop_pool_of_2);
CORACLE_BENCH(ping_pong_two_pools);
}  // namespace
