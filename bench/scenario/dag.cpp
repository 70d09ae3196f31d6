// bench/scenario/dag.cpp -- tasks that depend on other tasks, on a pool of two threads.
// SPDX-License-Identifier: MIT
#include "dag.hpp"

#include <coracle/coracle.hpp>

#include "scenario.hpp"

namespace {
using coracle::shared_task;
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;

shared_task<std::uint64_t> edge() { co_return std::uint64_t{1}; }
shared_task<std::uint64_t> node(static_thread_pool& pool, shared_task<std::uint64_t> above,
                                shared_task<std::uint64_t> left) {
  co_await pool.schedule();
  const auto [a, l] = co_await coracle::when_all(above, left);
  co_return piece(a, l);
}
task<std::uint64_t> compute(static_thread_pool& pool, long rows) {
  std::vector<shared_task<std::uint64_t>> above(columns_of_dag, edge());
  std::vector<shared_task<std::uint64_t>> all;
  for (long row = 0; row != rows; ++row) {
    shared_task<std::uint64_t> left = edge();
    for (auto& each : above) {
      each = left = node(pool, each, left);
      all.push_back(each);
    }
  }
  co_await coracle::when_all(std::move(all));
  co_return co_await above.back();
}
void dag_of_tasks(scenario& run) {
  static_thread_pool pool{2};
  std::uint64_t last = 0;
  run.measure(
      [&] { last = coracle::sync_wait(coracle::schedule_on(compute(pool, run.times(rows_of_dag)), pool)); });
  run.expect(last == last_piece(run.times(rows_of_dag)), "what a loop computes");
}
void loop_dag_of_tasks(scenario& run) {
  std::uint64_t last = 0;
  run.measure([&] { last = last_piece(run.times(rows_of_dag)); });
  run.expect(last == last_piece(run.times(rows_of_dag)), "the same again");
}

CORACLE_GROWING_SCENARIO(dag_of_tasks);
CORACLE_GROWING_SCENARIO(loop_dag_of_tasks);
}  // namespace
