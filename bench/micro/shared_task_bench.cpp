// bench/micro/shared_task_bench.cpp -- the cost of sharing a result.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>

#include "floor_task.hpp"
#include "measure.hpp"

namespace {
using coracle::shared_task;
using coracle::task;
using coracle_bench::measure;

[[gnu::noinline]] shared_task<long> shared_leaf(long i) { co_return i; }
[[gnu::noinline]] floor_task::task<long> floor_leaf(long i) { co_return i; }

task<> await_new(long n, long& sum) {
  for (long i = 0; i < n; ++i) sum += co_await shared_leaf(i);
}
/// Creates, starts, completes and frees the task.
void shared_task_await_new(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    long sum = 0;
    coracle::sync_wait(await_new(n, sum));
    benchmark::DoNotOptimize(sum);
  });
}
floor_task::task<> floor_await_new(long n, long& sum, std::atomic<long>& word) {
  for (long i = 0; i < n; ++i) {
    sum += co_await floor_leaf(i);
    long expected = 0;
    word.compare_exchange_strong(expected, 1, std::memory_order_acquire);
    word.exchange(0, std::memory_order_acq_rel);
  }
}
/// The floor task, and two atomic operations: one of several awaiters starts it, and all get its result.
void floor_shared_task_await_new(benchmark::State& state) {
  std::atomic<long> word{0};
  measure(state, 1'000'000, [&word](long n) {
    long sum = 0;
    floor_await_new(n, sum, word).run();
    benchmark::DoNotOptimize(sum);
  });
}

task<> await_ended(const shared_task<long>& one, long n, long& sum) {
  for (long i = 0; i < n; ++i) coracle_bench::need(sum += co_await one);
}
void shared_task_await_ended(benchmark::State& state) {
  const shared_task<long> one = shared_leaf(1);
  measure(state, 10'000'000, [&one](long n) {
    long sum = 0;
    coracle::sync_wait(await_ended(one, n, sum));
  });
}
/// One acquiring load.
void floor_shared_task_await_ended(benchmark::State& state) {
  std::atomic<long> word{1};
  measure(state, 10'000'000, [&word](long n) {
    long sum = 0;
    for (long i = 0; i < n; ++i) coracle_bench::need(sum += word.load(std::memory_order_acquire));
  });
}

[[gnu::noinline]] void take_copy(shared_task<long> one) { benchmark::DoNotOptimize(one); }
void shared_task_copy_and_drop(benchmark::State& state) {
  const shared_task<long> one = shared_leaf(1);
  measure(state, 10'000'000, [&one](long n) {
    for (long i = 0; i < n; ++i) take_copy(one);
  });
}
[[gnu::noinline]] void count_up_and_down(std::atomic<long>& word) {
  benchmark::DoNotOptimize(&word);
  word.fetch_add(1, std::memory_order_relaxed);
  word.fetch_sub(1, std::memory_order_acq_rel);
}
void floor_shared_task_copy_and_drop(benchmark::State& state) {
  std::atomic<long> word{1};
  measure(state, 10'000'000, [&word](long n) {
    for (long i = 0; i < n; ++i) count_up_and_down(word);
  });
}

CORACLE_BENCH(shared_task_await_new);
CORACLE_BENCH(floor_shared_task_await_new);
CORACLE_BENCH(shared_task_await_ended);
CORACLE_BENCH(floor_shared_task_await_ended);
CORACLE_BENCH(shared_task_copy_and_drop);
CORACLE_BENCH(floor_shared_task_copy_and_drop);
}  // namespace
