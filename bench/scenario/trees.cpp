// bench/scenario/trees.cpp -- trees of calls that each go through the scheduler, on a pool of two threads.
// SPDX-License-Identifier: MIT
#include "trees.hpp"

#include <atomic>
#include <coracle/coracle.hpp>
#include <vector>

#include "scenario.hpp"

namespace {
using coracle::async_scope;
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;

// ---- each call starts with schedule(), as users of cppcoro write it --------------------------------------

template <class Scheduler>
task<long> scheduled(Scheduler& place, long first, long leaves) {
  co_await place.schedule();
  if (leaves == 1) co_return first;
  const auto [left, right] = co_await coracle::when_all(
      scheduled(place, first, leaves / 2), scheduled(place, first + leaves / 2, leaves - leaves / 2));
  co_return left + right;
}
void tree_by_schedule(scenario& run) {
  static_thread_pool pool{tree_threads};
  long sum = 0;
  run.measure([&] { sum = coracle::sync_wait(scheduled(pool, 0, run.times(tree_leaves))); });
  run.expect(sum == sum_below(run.times(tree_leaves)), "the sum of all leaves");
}

/// First come, first served, and so breadth first: needs memory for the tree's width.
void tree_on_strand(scenario& run) {
  static_thread_pool pool{tree_threads};
  coracle::strand strand{pool};
  long sum = 0;
  run.measure([&] { sum = coracle::sync_wait(scheduled(strand, 0, run.times(strand_tree_leaves))); });
  run.expect(sum == sum_below(run.times(strand_tree_leaves)), "the sum of all leaves");
}

// ---- each parent schedules its children on the pool ---------------------------------------------------

task<long> sent(static_thread_pool& pool, long first, long leaves) {
  if (leaves == 1) co_return first;
  const auto [left, right] = co_await coracle::when_all(
      coracle::schedule_on(sent(pool, first, leaves / 2), pool),
      coracle::schedule_on(sent(pool, first + leaves / 2, leaves - leaves / 2), pool));
  co_return left + right;
}
void tree_by_schedule_on(scenario& run) {
  static_thread_pool pool{tree_threads};
  long sum = 0;
  run.measure([&] { sum = coracle::sync_wait(sent(pool, 0, run.times(tree_leaves))); });
  run.expect(sum == sum_below(run.times(tree_leaves)), "the sum of all leaves");
}

task<long> fib(static_thread_pool& pool, int n) {
  if (n < 2) co_return n;
  const auto [left, right] = co_await coracle::when_all(coracle::schedule_on(fib(pool, n - 1), pool),
                                                        coracle::schedule_on(fib(pool, n - 2), pool));
  co_return left + right;
}
void fib_by_schedule_on(scenario& run) {
  static_thread_pool pool{tree_threads};
  long result = 0;
  run.measure([&] { result = coracle::sync_wait(fib(pool, scheduled_fib_of)); });
  run.expect(result == scheduled_fib, "fib(27)");
}

task<long> skynet(static_thread_pool& pool, long first, long leaves) {
  co_await pool.schedule();
  if (leaves == 1) co_return first;
  std::vector<task<long>> children;
  children.reserve(10);
  for (long i = 0; i != 10; ++i) children.push_back(skynet(pool, first + i * (leaves / 10), leaves / 10));
  long sum = 0;
  for (const long each : co_await coracle::when_all(std::move(children))) sum += each;
  co_return sum;
}
void skynet_by_schedule(scenario& run) {
  static_thread_pool pool{tree_threads};
  long sum = 0;
  run.measure([&] { sum = coracle::sync_wait(skynet(pool, 0, run.times(scheduled_skynet_leaves))); });
  run.expect(sum == sum_below(run.times(scheduled_skynet_leaves)), "the sum of all leaves");
}

// ---- a scope in each node; one scope for everything ---------------------------------------------------

task<> in_scopes(static_thread_pool& pool, long first, long leaves, long& sum) {
  if (leaves == 1) {
    sum = first;
    co_return;
  }
  long left = 0, right = 0;
  async_scope scope;
  scope.spawn(pool, in_scopes(pool, first, leaves / 2, left));
  scope.spawn(pool, in_scopes(pool, first + leaves / 2, leaves - leaves / 2, right));
  co_await scope.join();
  sum = left + right;
}
void tree_by_scopes(scenario& run) {
  static_thread_pool pool{tree_threads};
  long sum = 0;
  run.measure([&] {
    coracle::sync_wait(coracle::schedule_on(in_scopes(pool, 0, run.times(tree_leaves), sum), pool));
  });
  run.expect(sum == sum_below(run.times(tree_leaves)), "the sum of all leaves");
}

task<> spawned(static_thread_pool& pool, long n, std::atomic<long>& sum) {
  co_await pool.schedule();
  const auto add = [&sum](long i) -> task<> {
    sum.fetch_add(i, std::memory_order_relaxed);
    co_return;
  };
  async_scope scope;
  for (long i = 0; i != n; ++i) scope.spawn(pool, add(i));
  co_await scope.join();
}
void spawn_onto_pool(scenario& run) {
  static_thread_pool pool{tree_threads};
  std::atomic<long> sum{0};
  run.measure([&] { coracle::sync_wait(spawned(pool, run.times(spawned_children), sum)); });
  run.expect(sum == sum_below(run.times(spawned_children)), "the sum of all children");
}

CORACLE_GROWING_SCENARIO(tree_by_schedule);
CORACLE_GROWING_SCENARIO(tree_on_strand);
CORACLE_GROWING_SCENARIO(tree_by_schedule_on);
CORACLE_SCENARIO(fib_by_schedule_on);
CORACLE_GROWING_SCENARIO(skynet_by_schedule);
CORACLE_GROWING_SCENARIO(tree_by_scopes);
CORACLE_GROWING_SCENARIO(spawn_onto_pool);
}  // namespace
