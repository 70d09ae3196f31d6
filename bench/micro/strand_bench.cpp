// bench/micro/strand_bench.cpp -- serial execution on top of a concurrent executor.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/exec/strand.hpp>

#include "measure.hpp"

namespace {
using coracle::task;

template <class Scheduler>
task<> hop(Scheduler& place, long n) {
  for (long i = 0; i < n; ++i) co_await place.schedule();
}
/// By a coroutine that is alone on the strand.
void strand_hop(benchmark::State& state) {
  coracle::static_thread_pool pool{1};
  coracle::strand place{pool};
  coracle_bench::measure(state, 1'000'000, [&](long n) { coracle::sync_wait(hop(place, n)); });
}
void floor_strand_hop(benchmark::State& state) {
  coracle::static_thread_pool pool{1};
  coracle_bench::measure(state, 1'000'000, [&](long n) { coracle::sync_wait(hop(pool, n)); });
}

/// Two coroutines of a pool of two threads enter a strand in turn, each from the pool.
task<> enter(coracle::static_thread_pool& pool, coracle::strand& place, long n, long& count) {
  for (long i = 0; i < n; ++i) {
    co_await place.schedule();
    ++count;
    co_await pool.schedule();
  }
}
void strand_contended_pool_of_2(benchmark::State& state) {
  coracle::static_thread_pool pool{2};
  coracle::strand place{pool};
  long count = 0;
  coracle_bench::measure(state, 100'000, [&](long n) {
    coracle::sync_wait(coracle::when_all(enter(pool, place, n / 2, count), enter(pool, place, n / 2, count)));
  });
  benchmark::DoNotOptimize(count);
}

CORACLE_BENCH(strand_hop);
CORACLE_BENCH(floor_strand_hop);
CORACLE_BENCH(strand_contended_pool_of_2);
}  // namespace
