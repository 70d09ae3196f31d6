// bench/micro/when_all_bench.cpp -- making and joining a thousand tasks.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <vector>

#include "floor_task.hpp"
#include "measure.hpp"

namespace {
constexpr int tasks = 1000;

template <template <class> class Task>
[[gnu::noinline]] Task<int> leaf(int i) {
  co_return i;
}

coracle::task<long> join_rounds(long rounds) {
  long sum = 0;
  for (long round = 0; round < rounds; ++round) {
    std::vector<coracle::task<int>> children;
    children.reserve(tasks);
    for (int i = 0; i < tasks; ++i) children.push_back(leaf<coracle::task>(i));
    const std::vector<int> results = co_await coracle::when_all(std::move(children));
    sum += results.back();
  }
  co_return sum;
}
void when_all_1000(benchmark::State& state) {
  coracle_bench::measure_each(state, 1000, tasks,
                              [](long n) { benchmark::DoNotOptimize(coracle::sync_wait(join_rounds(n))); });
}

/// The floor: the same vector of minimal tasks, run one by one without being joined.
void floor_when_all_1000(benchmark::State& state) {
  coracle_bench::measure_each(state, 1000, tasks, [](long n) {
    for (long round = 0; round < n; ++round) {
      std::vector<floor_task::task<int>> children;
      children.reserve(tasks);
      for (int i = 0; i < tasks; ++i) children.push_back(leaf<floor_task::task>(i));
      std::vector<int> results;
      results.reserve(tasks);
      for (auto& child : children) results.push_back(child.run());
      benchmark::DoNotOptimize(results.back());
    }
  });
}

CORACLE_BENCH(when_all_1000);
CORACLE_BENCH(floor_when_all_1000);
}  // namespace
