// bench/scenario/trees_tbb.cpp -- the trees of trees.cpp with oneTBB's task_group.
// SPDX-License-Identifier: MIT
#include <tbb/task_group.h>

#include <array>
#include <atomic>
#include <numeric>

#include "scenario.hpp"
#include "tbb.hpp"
#include "trees.hpp"

namespace {
using namespace coracle_bench;

long tree(long first, long leaves) {
  if (leaves == 1) return first;
  long left = 0, right = 0;
  tbb::task_group children;
  children.run([&left, first, leaves] { left = tree(first, leaves / 2); });
  children.run([&right, first, leaves] { right = tree(first + leaves / 2, leaves - leaves / 2); });
  children.wait();
  return left + right;
}
void tbb_tree(scenario& run) {
  long sum = 0;
  run.measure([&] { in_arena(tree_threads, [&] { sum = tree(0, run.times(tree_leaves)); }); });
  run.expect(sum == sum_below(run.times(tree_leaves)), "the sum of all leaves");
}
void tbb_tree_by_schedule(scenario& run) { tbb_tree(run); }
void tbb_tree_by_schedule_on(scenario& run) { tbb_tree(run); }
void tbb_tree_by_scopes(scenario& run) { tbb_tree(run); }

long fib(int n) {
  if (n < 2) return n;
  long left = 0, right = 0;
  tbb::task_group children;
  children.run([&left, n] { left = fib(n - 1); });
  children.run([&right, n] { right = fib(n - 2); });
  children.wait();
  return left + right;
}
void tbb_fib_by_schedule_on(scenario& run) {
  long result = 0;
  run.measure([&] { in_arena(tree_threads, [&] { result = fib(scheduled_fib_of); }); });
  run.expect(result == scheduled_fib, "fib(27)");
}

long skynet(long first, long leaves) {
  if (leaves == 1) return first;
  std::array<long, 10> sums{};
  tbb::task_group children;
  for (long i = 0; i != 10; ++i) {
    long& sum = sums[static_cast<std::size_t>(i)];
    children.run([&sum, first, leaves, i] { sum = skynet(first + i * (leaves / 10), leaves / 10); });
  }
  children.wait();
  return std::accumulate(sums.begin(), sums.end(), 0L);
}
void tbb_skynet_by_schedule(scenario& run) {
  long sum = 0;
  run.measure([&] { in_arena(tree_threads, [&] { sum = skynet(0, run.times(scheduled_skynet_leaves)); }); });
  run.expect(sum == sum_below(run.times(scheduled_skynet_leaves)), "the sum of all leaves");
}

void tbb_spawn_onto_pool(scenario& run) {
  std::atomic<long> sum{0};
  run.measure([&] {
    in_arena(tree_threads, [&] {
      tbb::task_group children;
      const long n = run.times(spawned_children);
      for (long i = 0; i != n; ++i) children.run([&sum, i] { sum.fetch_add(i, std::memory_order_relaxed); });
      children.wait();
    });
  });
  run.expect(sum == sum_below(run.times(spawned_children)), "the sum of all children");
}

CORACLE_GROWING_SCENARIO(tbb_tree_by_schedule);
CORACLE_GROWING_SCENARIO(tbb_tree_by_schedule_on);
CORACLE_GROWING_SCENARIO(tbb_tree_by_scopes);
CORACLE_SCENARIO(tbb_fib_by_schedule_on);
CORACLE_GROWING_SCENARIO(tbb_skynet_by_schedule);
CORACLE_GROWING_SCENARIO(tbb_spawn_onto_pool);
}  // namespace
