// bench/micro/sync_bench.cpp -- events and mutexes.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>

#include "measure.hpp"

namespace {
using coracle::task;
using coracle_bench::measure;

task<> set_await_reset(coracle::async_manual_reset_event& event, long n) {
  for (long i = 0; i < n; ++i) {
    event.set();
    co_await event;
    event.reset();
  }
}
void event_set_await_reset(benchmark::State& state) {
  coracle::async_manual_reset_event event;
  measure(state, 10'000'000, [&event](long n) { coracle::sync_wait(set_await_reset(event, n)); });
}

task<> await_and_reset(coracle::async_manual_reset_event& event, long n) {
  for (long i = 0; i < n; ++i) {
    co_await event;
    event.reset();
  }
}
task<> set_repeatedly(coracle::async_manual_reset_event& event, long n) {
  for (long i = 0; i < n; ++i) event.set();
  co_return;
}
void event_suspend_resume(benchmark::State& state) {
  coracle::async_manual_reset_event event;
  measure(state, 1'000'000, [&event](long n) {
    coracle::sync_wait(coracle::when_all(await_and_reset(event, n), set_repeatedly(event, n)));
  });
}

task<> lock_and_count(coracle::async_mutex& mutex, long n, long& count) {
  for (long i = 0; i < n; ++i) {
    auto lock = co_await mutex.scoped_lock_async();
    ++count;
  }
}
void mutex_uncontended(benchmark::State& state) {
  coracle::async_mutex mutex;
  long count = 0;
  measure(state, 10'000'000, [&](long n) { coracle::sync_wait(lock_and_count(mutex, n, count)); });
  benchmark::DoNotOptimize(count);
}

task<> lock_on_pool(coracle::static_thread_pool& pool, coracle::async_mutex& mutex, long n, long& count) {
  co_await pool.schedule();
  co_await lock_and_count(mutex, n, count);
}
void mutex_contended_pool_of_2(benchmark::State& state) {
  coracle::static_thread_pool pool{2};
  coracle::async_mutex mutex;
  long count = 0;
  measure(state, 1'000'000, [&](long n) {
    coracle::sync_wait(
        coracle::when_all(lock_on_pool(pool, mutex, n / 2, count), lock_on_pool(pool, mutex, n / 2, count)));
  });
  benchmark::DoNotOptimize(count);
}

/// What a lock, or setting and resetting an event, cannot do without: two locked operations on one word.
void two_locked_operations(benchmark::State& state) {
  std::atomic<long> word{0};
  long count = 0;
  measure(state, 10'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      long expected = 0;
      word.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed);
      coracle_bench::need(++count);
      expected = 1;
      word.compare_exchange_strong(expected, 0, std::memory_order_release, std::memory_order_relaxed);
    }
  });
}
void floor_mutex_uncontended(benchmark::State& state) { two_locked_operations(state); }
void floor_event_set_await_reset(benchmark::State& state) { two_locked_operations(state); }

CORACLE_BENCH(event_set_await_reset);
CORACLE_BENCH(floor_event_set_await_reset);
CORACLE_BENCH(event_suspend_resume);
CORACLE_BENCH(mutex_uncontended);
CORACLE_BENCH(floor_mutex_uncontended);
CORACLE_BENCH(mutex_contended_pool_of_2);
}  // namespace
