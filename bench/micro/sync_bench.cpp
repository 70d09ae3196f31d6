// bench/micro/sync_bench.cpp -- events and mutexes.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
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

/// About 5 us: each step depends on the previous one.
void work_outside() {
  unsigned long x = 1;
  for (int i = 0; i != 5'000; ++i) {
    x = x * 6'364'136'223'846'793'005 + 1;
    benchmark::DoNotOptimize(x);  // otherwise clang merges several steps into one
  }
}
task<> lock_and_work(coracle::static_thread_pool& pool, coracle::async_mutex& mutex, long n, long& count) {
  co_await pool.schedule();
  for (long i = 0; i < n; ++i) {
    {
      auto lock = co_await mutex.scoped_lock_async();
      ++count;
    }
    work_outside();
  }
}
/// Four coroutines that take turns; their work outside the lock can occupy two threads.
void mutex_with_work_outside_pool_of_2(benchmark::State& state) {
  coracle::static_thread_pool pool{2};
  coracle::async_mutex mutex;
  long count = 0;
  measure(state, 4'000, [&](long n) {
    const auto quarter = [&] { return lock_and_work(pool, mutex, n / 4, count); };
    coracle::sync_wait(coracle::when_all(quarter(), quarter(), quarter(), quarter()));
  });
  benchmark::DoNotOptimize(count);
}
/// On one thread: the floor for a pool of two is half of this at best.
void floor_mutex_with_work_outside_pool_of_2(benchmark::State& state) {
  measure(state, 4'000, [](long n) {
    for (long i = 0; i != n; ++i) work_outside();
  });
}

/// Waits in a queue; its frame comes from the recycler.
struct waiting {
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::returns<void, coracle::part::terminates_on_error>,
                        coracle::part::frees_itself,
                        coracle::part::awaits_anything,
                        coracle::recycled_frames {
    waiting get_return_object() const noexcept { return {}; }
  };
};
waiting lock_once(coracle::async_mutex& mutex, long& count) {
  const auto lock = co_await mutex.scoped_lock_async();
  ++count;
}
/// A coroutine that queues up and, when it gets the lock, passes it on.
void mutex_100_queued(benchmark::State& state) {
  coracle::async_mutex mutex;
  long count = 0;
  measure(state, 1'000'000, [&](long n) {
    for (long i = 0; i < n; i += 100) {
      static_cast<void>(mutex.try_lock());
      for (int k = 0; k != 100; ++k) lock_once(mutex, count);
      mutex.unlock();
    }
  });
  benchmark::DoNotOptimize(count);
}

task<> lock_or_stop(coracle::async_mutex& mutex, long& cancelled) {
  try {
    co_await mutex.lock_async();
  } catch (const coracle::operation_cancelled&) {
    ++cancelled;
  }
}
waiting lock_until_stopped(coracle::async_mutex& mutex, const coracle::stop_token& token, long& cancelled) {
  co_await coracle::with_stop(lock_or_stop(mutex, cancelled), token);
}
/// A coroutine that queues up and is stopped, all 100 by one request; most of the cost is the exception.
void mutex_100_cancelled(benchmark::State& state) {
  coracle::async_mutex mutex;
  static_cast<void>(mutex.try_lock());
  long cancelled = 0;
  measure(state, 100'000, [&](long n) {
    for (long i = 0; i < n; i += 100) {
      coracle::stop_source stop;
      for (int k = 0; k != 100; ++k) lock_until_stopped(mutex, stop.get_token(), cancelled);
      stop.request_stop();
    }
  });
  benchmark::DoNotOptimize(cancelled);
  mutex.unlock();
}

task<> lock_and_unlock(coracle::async_mutex& mutex) { const auto lock = co_await mutex.scoped_lock_async(); }
waiting end_of_lock(coracle::async_mutex& mutex, const coracle::stop_token& token, long& cancelled) {
  auto work = coracle::as_outcome(lock_and_unlock(mutex));
  const auto end = co_await coracle::with_stop(std::move(work), token);
  cancelled += end.is_cancelled() ? 1 : 0;
}
/// One of a thousand that queue up, without an exception: from the request until its awaiter has ended.
void mutex_1000_stopped(benchmark::State& state) {
  coracle::async_mutex mutex;
  static_cast<void>(mutex.try_lock());
  long cancelled = 0;
  measure(state, 1000, [&](long n) {
    state.PauseTiming();
    coracle::stop_source stop;
    for (long i = 0; i != n; ++i) end_of_lock(mutex, stop.get_token(), cancelled);
    state.ResumeTiming();
    stop.request_stop();
  });
  coracle_bench::need(cancelled);
  mutex.unlock();
}

/// The floor for a lock, or for setting and resetting an event: two atomic operations on one word.
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
CORACLE_BENCH(mutex_with_work_outside_pool_of_2);
CORACLE_BENCH(floor_mutex_with_work_outside_pool_of_2);
CORACLE_BENCH(mutex_100_queued);
CORACLE_BENCH(mutex_100_cancelled);
CORACLE_BENCH(mutex_1000_stopped);
}  // namespace
