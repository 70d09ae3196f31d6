// bench/micro/latch_bench.cpp -- latches, barriers, and the events for a single consumer.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_barrier.hpp>
#include <coracle/sync/async_latch.hpp>
#include <coracle/sync/single_consumer_async_auto_reset_event.hpp>
#include <coracle/sync/single_consumer_event.hpp>
#include <optional>

#include "measure.hpp"

namespace {
using coracle::task;
using coracle_bench::measure;

// ---- latch

task<> count_and_await(long n) {
  for (long i = 0; i < n; ++i) {
    coracle::async_latch latch{1};
    latch.count_down();
    co_await latch;
  }
}
void latch_count_await(benchmark::State& state) {
  measure(state, 10'000'000, [](long n) { coracle::sync_wait(count_and_await(n)); });
}

using latch_in_place = std::optional<coracle::async_latch>;
task<> await_and_renew(latch_in_place& latch, long n) {
  for (long i = 0; i < n; ++i) {
    co_await *latch;
    latch.emplace(1);
  }
}
task<> count_repeatedly(latch_in_place& latch, long n) {
  for (long i = 0; i < n; ++i) latch->count_down();
  co_return;
}
void latch_suspend_resume(benchmark::State& state) {
  latch_in_place latch{1};
  measure(state, 1'000'000, [&](long n) {
    coracle::sync_wait(coracle::when_all(await_and_renew(latch, n), count_repeatedly(latch, n)));
  });
}

// ---- barrier

task<> meet(coracle::async_barrier<>& barrier, long n) {
  for (long i = 0; i < n; ++i) co_await barrier.arrive_and_wait();
}
void barrier_alone(benchmark::State& state) {
  coracle::async_barrier barrier{1};
  measure(state, 10'000'000, [&](long n) { coracle::sync_wait(meet(barrier, n)); });
}
/// One operation is one phase.
void barrier_of_2(benchmark::State& state) {
  coracle::async_barrier barrier{2};
  measure(state, 1'000'000,
          [&](long n) { coracle::sync_wait(coracle::when_all(meet(barrier, n), meet(barrier, n))); });
}
task<> meet_on_pool(coracle::static_thread_pool& pool, coracle::async_barrier<>& barrier, long n) {
  co_await pool.schedule();
  co_await meet(barrier, n);
}
void barrier_of_2_pool_of_2(benchmark::State& state) {
  coracle::static_thread_pool pool{2};
  coracle::async_barrier barrier{2};
  measure(state, 100'000, [&](long n) {
    coracle::sync_wait(coracle::when_all(meet_on_pool(pool, barrier, n), meet_on_pool(pool, barrier, n)));
  });
}

// ---- events for a single consumer

task<> set_await_reset(coracle::single_consumer_event& event, long n) {
  for (long i = 0; i < n; ++i) {
    event.set();
    co_await event;
    event.reset();
  }
}
void single_event_set_await_reset(benchmark::State& state) {
  coracle::single_consumer_event event;
  measure(state, 10'000'000, [&](long n) { coracle::sync_wait(set_await_reset(event, n)); });
}
task<> await_and_reset(coracle::single_consumer_event& event, long n) {
  for (long i = 0; i < n; ++i) {
    co_await event;
    event.reset();
  }
}
template <class Event>
task<> set_repeatedly(Event& event, long n) {
  for (long i = 0; i < n; ++i) event.set();
  co_return;
}
void single_event_suspend_resume(benchmark::State& state) {
  coracle::single_consumer_event event;
  measure(state, 1'000'000, [&](long n) {
    coracle::sync_wait(coracle::when_all(await_and_reset(event, n), set_repeatedly(event, n)));
  });
}

template <class Event>
task<> set_and_await(Event& event, long n) {
  for (long i = 0; i < n; ++i) {
    event.set();
    co_await event;
  }
}
template <class Event>
void set_await(benchmark::State& state) {
  Event event;
  measure(state, 10'000'000, [&](long n) { coracle::sync_wait(set_and_await(event, n)); });
}
template <class Event>
task<> await_repeatedly(Event& event, long n) {
  for (long i = 0; i < n; ++i) co_await event;
}
template <class Event>
void suspend_resume(benchmark::State& state) {
  Event event;
  measure(state, 1'000'000, [&](long n) {
    coracle::sync_wait(coracle::when_all(await_repeatedly(event, n), set_repeatedly(event, n)));
  });
}
using single_auto_event = coracle::single_consumer_async_auto_reset_event;
void single_auto_event_set_await(benchmark::State& state) { set_await<single_auto_event>(state); }
void single_auto_event_suspend_resume(benchmark::State& state) { suspend_resume<single_auto_event>(state); }
void auto_event_set_await(benchmark::State& state) { set_await<coracle::async_auto_reset_event>(state); }
void auto_event_suspend_resume(benchmark::State& state) {
  suspend_resume<coracle::async_auto_reset_event>(state);
}

/// The floor for each of these: two atomic operations on one word.
void two_locked_operations(benchmark::State& state) {
  std::atomic<long> word{0};
  measure(state, 10'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      coracle_bench::need(word.exchange(1, std::memory_order_acq_rel));
      long expected = 1;
      word.compare_exchange_strong(expected, 0, std::memory_order_acquire, std::memory_order_relaxed);
    }
  });
}
void floor_latch_count_await(benchmark::State& state) { two_locked_operations(state); }
void floor_barrier_alone(benchmark::State& state) { two_locked_operations(state); }
void floor_single_event_set_await_reset(benchmark::State& state) { two_locked_operations(state); }
void floor_single_event_suspend_resume(benchmark::State& state) { two_locked_operations(state); }
void floor_single_auto_event_set_await(benchmark::State& state) { two_locked_operations(state); }
void floor_single_auto_event_suspend_resume(benchmark::State& state) { two_locked_operations(state); }
void floor_auto_event_set_await(benchmark::State& state) { two_locked_operations(state); }

CORACLE_BENCH(latch_count_await);
CORACLE_BENCH(floor_latch_count_await);
CORACLE_BENCH(latch_suspend_resume);
CORACLE_BENCH(barrier_alone);
CORACLE_BENCH(floor_barrier_alone);
CORACLE_BENCH(barrier_of_2);
CORACLE_BENCH(barrier_of_2_pool_of_2);
CORACLE_BENCH(single_event_set_await_reset);
CORACLE_BENCH(floor_single_event_set_await_reset);
CORACLE_BENCH(single_event_suspend_resume);
CORACLE_BENCH(floor_single_event_suspend_resume);
CORACLE_BENCH(single_auto_event_set_await);
CORACLE_BENCH(floor_single_auto_event_set_await);
CORACLE_BENCH(single_auto_event_suspend_resume);
CORACLE_BENCH(floor_single_auto_event_suspend_resume);
CORACLE_BENCH(auto_event_set_await);
CORACLE_BENCH(floor_auto_event_set_await);
CORACLE_BENCH(auto_event_suspend_resume);
}  // namespace
