// bench/scenario/large_frames.cpp -- coroutines with large locals, large results, and deep recursion.
// SPDX-License-Identifier: MIT
#include "large_frames.hpp"

#include <atomic>
#include <coracle/coracle.hpp>
#include <vector>

#include "scenario.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;

// ---- many tasks with large locals at the same time ----------------------------------------------------

task<long> with_large_locals(static_thread_pool& pool, long number) {
  large_object local = filled(number);
  use(local);
  co_await pool.schedule();
  use(local);
  co_return local[0];
}
task<long> run_waves(static_thread_pool& pool, long tasks) {
  co_await pool.schedule();
  long sum = 0;
  for (int wave = 0; wave != waves; ++wave) {
    std::vector<task<long>> all;
    all.reserve(static_cast<std::size_t>(tasks));
    for (long i = 0; i != tasks; ++i) all.push_back(with_large_locals(pool, i % 100));
    for (const long each : co_await coracle::when_all(std::move(all))) sum += each;
  }
  co_return sum;
}
void tasks_with_large_locals(scenario& run) {
  static_thread_pool pool{1};
  const long tasks = run.times(tasks_in_wave);
  long sum = 0;
  run.measure([&] { sum = coracle::sync_wait(run_waves(pool, tasks)); });
  run.expect(sum == waves * (tasks / 100) * 4950, "the sum of all numbers");
}

// ---- the same, made on one thread and freed on another ------------------------------------------------

task<> with_large_locals_elsewhere(long number, std::atomic<long>& sum) {
  large_object local = filled(number);
  use(local);
  sum.fetch_add(local[0], std::memory_order_relaxed);
  co_return;
}
void large_frames_freed_elsewhere(scenario& run) {
  static_thread_pool pool{1};
  const long tasks = run.times(tasks_in_wave);
  std::atomic<long> sum{0};
  run.measure([&] {
    for (int wave = 0; wave != waves; ++wave) {
      coracle::async_scope scope;
      for (long i = 0; i != tasks; ++i) scope.spawn(pool, with_large_locals_elsewhere(i % 100, sum));
      coracle::sync_wait(scope.join());
    }
  });
  run.expect(sum == waves * (tasks / 100) * 4950, "the sum of all numbers");
}

// ---- a large result through many calls ----------------------------------------------------------------

[[gnu::noinline]] task<large_object> give_up(int level) {
  if (level == 0) co_return filled(1);
  large_object result = co_await give_up(level - 1);
  ++result[0];
  co_return result;
}
task<long> take_results(long n) {
  long sum = 0;
  for (long i = 0; i != n; ++i) {
    const large_object result = co_await give_up(result_levels);
    sum += result[0];
  }
  co_return sum;
}
void large_result_through_calls(scenario& run) {
  long sum = 0;
  run.measure([&] { sum = coracle::sync_wait(take_results(results)); });
  run.expect(sum == results * (result_levels + 1L), "each level counts itself");
}
[[gnu::noinline]] large_object give_up_plainly(int level) {
  if (level == 0) return filled(1);
  large_object result = give_up_plainly(level - 1);
  ++result[0];
  return result;
}
void loop_large_result_through_calls(scenario& run) {
  long sum = 0;
  run.measure([&] {
    for (long i = 0; i != results; ++i) {
      large_object result = give_up_plainly(result_levels);
      use(result);
      sum += result[0];
    }
  });
  run.expect(sum == results * (result_levels + 1L), "each level counts itself");
}

// ---- each call a when_all, many calls deep ------------------------------------------------------------

task<long> descend(long level) {
  if (level == 0) co_return 0;
  const auto [below] = co_await coracle::when_all(descend(level - 1));
  co_return below + 1;
}
task<long> descend_repeatedly(long depth) {
  long sum = 0;
  for (long i = 0; i != descents; ++i) sum += co_await descend(depth);
  co_return sum;
}
void deep_when_all(scenario& run) {
  const long depth = run.times(levels);
  long sum = 0;
  run.measure([&] { sum = coracle::sync_wait(descend_repeatedly(depth)); });
  run.expect(sum == descents * depth, "each level counts itself");
}

CORACLE_GROWING_SCENARIO(tasks_with_large_locals);
CORACLE_GROWING_SCENARIO(large_frames_freed_elsewhere);
CORACLE_SCENARIO(large_result_through_calls);
CORACLE_SCENARIO(loop_large_result_through_calls);
CORACLE_GROWING_SCENARIO(deep_when_all);
}  // namespace
