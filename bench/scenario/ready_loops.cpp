// bench/scenario/ready_loops.cpp -- a timer and posts beside coroutines whose awaits are all ready, and a
// tree of yields.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>

#include "io_neighbours.hpp"
#include "pool_latency.hpp"
#include "scenario.hpp"
#include "trees.hpp"

namespace {
using coracle::async_scope;
using coracle::io_service;
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;

using is_over = std::atomic<bool>;
bool ends(const is_over& over) { return over.load(std::memory_order_relaxed); }

task<int> nop() { co_return 1; }
coracle::async_generator<int> numbers() {
  for (int i = 0;; ++i) co_yield i;
}

// None of these loops ever waits.
task<> race(const is_over& over) {
  while (!ends(over)) static_cast<void>(co_await coracle::when_any(nop(), nop()));
}
task<> limit_time(const is_over& over) {
  while (!ends(over)) static_cast<void>(co_await coracle::timeout(nop(), std::chrono::seconds{1}));
}
task<> generate(const is_over& over) {
  auto source = numbers();
  for (auto* each = co_await source.next(); each && !ends(over);) each = co_await source.next();
}
task<> spawn_and_join(const is_over& over) {
  while (!ends(over)) {
    async_scope scope;
    for (int i = 0; i != 10; ++i) {
      scope.spawn([]() -> task<> { co_return; });
    }
    co_await scope.join();
  }
}
constexpr int kinds_of_loops = 4;
task<> loop_of_kind(int kind, const is_over& over) {
  switch (kind) {
    case 0:
      return race(over);
    case 1:
      return limit_time(over);
    case 2:
      return generate(over);
    default:
      return spawn_and_join(over);
  }
}

void timer_beside_ready_loops(scenario& run) {
  io_service io;
  is_over over{false};
  const auto tick_on = [&]() -> task<> {
    for (int i = 0; i != ticks; ++i) {
      const auto due = wait_clock::now() + tick;
      co_await io.schedule_at(due);
      run.waited(wait_clock::now() - due);
    }
    over = true;
  };
  const auto all = [&](async_scope& scope) -> task<> {
    for (int kind = 0; kind != kinds_of_loops; ++kind) scope.spawn(loop_of_kind(kind, over));
    co_await tick_on();
  };
  run.measure([&] { io.run(coracle::with_scope(all)); });
}
CORACLE_SCENARIO(timer_beside_ready_loops);

task<> note_wait(waits& all, wait_clock::time_point sent) {
  all.note_since(sent);
  co_return;
}
void posts_beside_ready_loops(scenario& run) {
  static_thread_pool pool{2};
  async_scope scope;
  is_over over{false};
  waits all;
  run.measure([&] {
    for (int kind = 0; kind != kinds_of_loops; ++kind) scope.spawn(pool, loop_of_kind(kind, over));
    post_now_and_then([&] { scope.spawn(pool, note_wait(all, wait_clock::now())); });
    over = true;
    coracle::sync_wait(scope.join());
  });
  all.pass_to(run);
}
CORACLE_SCENARIO(posts_beside_ready_loops);

/// yield() lets everything else that waits run first, so the tree unfolds breadth first.
task<long> yielding(long first, long leaves) {
  co_await coracle::this_task::yield();
  if (leaves == 1) co_return first;
  const auto [left, right] = co_await coracle::when_all(yielding(first, leaves / 2),
                                                        yielding(first + leaves / 2, leaves - leaves / 2));
  co_return left + right;
}
void tree_by_yield(scenario& run) {
  static_thread_pool pool{tree_threads};
  long sum = 0;
  run.measure([&] {
    sum = coracle::sync_wait(coracle::schedule_on(yielding(0, run.times(strand_tree_leaves)), pool));
  });
  run.expect(sum == sum_below(run.times(strand_tree_leaves)), "the sum of all leaves");
}
CORACLE_GROWING_SCENARIO(tree_by_yield);
}  // namespace
