// bench/micro/shared_mutex_bench.cpp -- semaphore, shared mutex, condition variable.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_condition_variable.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/sync/async_shared_mutex.hpp>

#include "measure.hpp"

namespace {
using coracle::task;
using coracle_bench::measure;

// ---- without contention --------------------------------------------------------------------------------

task<> acquire_and_count(coracle::async_semaphore& semaphore, long n, long& count) {
  for (long i = 0; i < n; ++i) {
    const auto permit = co_await semaphore.scoped_acquire();
    coracle_bench::need(++count);
  }
}
void semaphore_uncontended(benchmark::State& state) {
  coracle::async_semaphore semaphore{1};
  long count = 0;
  measure(state, 10'000'000, [&](long n) { coracle::sync_wait(acquire_and_count(semaphore, n, count)); });
}

task<> write_and_count(coracle::async_shared_mutex& mutex, long n, long& count) {
  for (long i = 0; i < n; ++i) {
    const auto lock = co_await mutex.scoped_lock_async();
    coracle_bench::need(++count);
  }
}
void shared_mutex_write_uncontended(benchmark::State& state) {
  coracle::async_shared_mutex mutex;
  long count = 0;
  measure(state, 10'000'000, [&](long n) { coracle::sync_wait(write_and_count(mutex, n, count)); });
}

task<> read_and_count(coracle::async_shared_mutex& mutex, long n) {
  long count = 0;
  for (long i = 0; i < n; ++i) {
    const auto shared = co_await mutex.scoped_lock_shared_async();
    coracle_bench::need(++count);
  }
}
void shared_mutex_read_uncontended(benchmark::State& state) {
  coracle::async_shared_mutex mutex;
  measure(state, 10'000'000, [&](long n) { coracle::sync_wait(read_and_count(mutex, n)); });
}

/// The floor for each of them.
void enter_and_leave(std::atomic<long>& word, long n) {
  long count = 0;
  for (long i = 0; i < n; ++i) {
    word.fetch_add(1, std::memory_order_acquire);
    coracle_bench::need(++count);
    word.fetch_sub(1, std::memory_order_release);
  }
}
void two_locked_operations(benchmark::State& state) {
  std::atomic<long> word{0};
  measure(state, 10'000'000, [&](long n) { enter_and_leave(word, n); });
}
void floor_semaphore_uncontended(benchmark::State& state) { two_locked_operations(state); }
void floor_shared_mutex_write_uncontended(benchmark::State& state) { two_locked_operations(state); }
void floor_shared_mutex_read_uncontended(benchmark::State& state) { two_locked_operations(state); }

task<> wait_ready(coracle::async_condition_variable& changed, coracle::async_mutex& mutex, long n) {
  auto lock = co_await mutex.scoped_lock_async();
  long calls = 0;
  const auto holds = [&calls] {
    coracle_bench::need(++calls);
    return true;
  };
  for (long i = 0; i < n; ++i) co_await changed.wait(lock, holds);
}
void condition_variable_predicate_holds(benchmark::State& state) {
  coracle::async_mutex mutex;
  coracle::async_condition_variable changed;
  measure(state, 10'000'000, [&](long n) { coracle::sync_wait(wait_ready(changed, mutex, n)); });
}
void condition_variable_notify_nobody(benchmark::State& state) {
  coracle::async_condition_variable changed;
  measure(state, 10'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      changed.notify_one();
      benchmark::ClobberMemory();
    }
  });
}

// ---- waiting, on one thread outside any scheduler: suspend, pass the lock, wake, resume -----------------

task<> acquire_repeatedly(coracle::async_semaphore& semaphore, long n) {
  for (long i = 0; i < n; ++i) co_await semaphore.acquire();
}
task<> release_repeatedly(coracle::async_semaphore& semaphore, long n) {
  for (long i = 0; i < n; ++i) semaphore.release();
  co_return;
}
void semaphore_suspend_resume(benchmark::State& state) {
  coracle::async_semaphore semaphore{0};
  measure(state, 1'000'000, [&](long n) {
    coracle::sync_wait(coracle::when_all(acquire_repeatedly(semaphore, n), release_repeatedly(semaphore, n)));
  });
}

task<> wait_repeatedly(coracle::async_condition_variable& changed, coracle::async_mutex& mutex, long n) {
  auto lock = co_await mutex.scoped_lock_async();
  for (long i = 0; i < n; ++i) co_await changed.wait(lock);
}
task<> notify_repeatedly(coracle::async_condition_variable& changed, long n) {
  for (long i = 0; i < n; ++i) changed.notify_one();
  co_return;
}
void condition_variable_suspend_resume(benchmark::State& state) {
  coracle::async_mutex mutex;
  coracle::async_condition_variable changed;
  measure(state, 1'000'000, [&](long n) {
    coracle::sync_wait(coracle::when_all(wait_repeatedly(changed, mutex, n), notify_repeatedly(changed, n)));
  });
}

// ---- two coroutines on a pool of two threads -----------------------------------------------------------

template <class Work>
task<> on_pool(coracle::static_thread_pool& pool, Work work) {
  co_await pool.schedule();
  co_await work();
}
/// Runs `work` twice concurrently, each with half of the n turns.
template <class Work>
void measure_two(benchmark::State& state, Work work) {
  coracle::static_thread_pool pool{2};
  measure(state, 1'000'000, [&](long n) {
    const auto half = [&work, n] { return work(n / 2); };
    coracle::sync_wait(coracle::when_all(on_pool(pool, half), on_pool(pool, half)));
  });
}

void semaphore_of_1_pool_of_2(benchmark::State& state) {
  coracle::async_semaphore semaphore{1};
  long count = 0;
  measure_two(state, [&](long n) { return acquire_and_count(semaphore, n, count); });
}
void shared_mutex_read_pool_of_2(benchmark::State& state) {
  coracle::async_shared_mutex mutex;
  measure_two(state, [&](long n) { return read_and_count(mutex, n); });
}
task<> count_on(std::atomic<long>& word, long n) {
  enter_and_leave(word, n);
  co_return;
}
void floor_shared_mutex_read_pool_of_2(benchmark::State& state) {
  std::atomic<long> word{0};
  measure_two(state, [&](long n) { return count_on(word, n); });
}

task<> read_and_seldom_write(coracle::async_shared_mutex& mutex, long n, long& count) {
  for (long i = 0; i < n; i += 10) {
    co_await read_and_count(mutex, 9);
    co_await write_and_count(mutex, 1, count);
  }
}
void shared_mutex_one_write_in_10_pool_of_2(benchmark::State& state) {
  coracle::async_shared_mutex mutex;
  long count = 0;
  measure_two(state, [&](long n) { return read_and_seldom_write(mutex, n, count); });
}

CORACLE_BENCH(semaphore_uncontended);
CORACLE_BENCH(floor_semaphore_uncontended);
CORACLE_BENCH(shared_mutex_read_uncontended);
CORACLE_BENCH(floor_shared_mutex_read_uncontended);
CORACLE_BENCH(shared_mutex_write_uncontended);
CORACLE_BENCH(floor_shared_mutex_write_uncontended);
CORACLE_BENCH(condition_variable_predicate_holds);
CORACLE_BENCH(condition_variable_notify_nobody);
CORACLE_BENCH(semaphore_suspend_resume);
CORACLE_BENCH(condition_variable_suspend_resume);
CORACLE_BENCH(semaphore_of_1_pool_of_2);
CORACLE_BENCH(shared_mutex_read_pool_of_2);
CORACLE_BENCH(floor_shared_mutex_read_pool_of_2);
CORACLE_BENCH(shared_mutex_one_write_in_10_pool_of_2);
}  // namespace
