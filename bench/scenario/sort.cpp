// bench/scenario/sort.cpp -- a million numbers, sorted by tasks that divide them, on a pool of two threads.
// SPDX-License-Identifier: MIT
#include "sort.hpp"

#include <algorithm>
#include <coracle/coracle.hpp>
#include <span>

#include "scenario.hpp"

namespace {
using coracle::task;
using namespace coracle_bench;

/// As in examples/26_fork_join.cpp.
task<> sort_all(std::span<std::uint64_t> all) {
  if (all.size() <= 1000) {
    std::sort(all.begin(), all.end());
    co_return;
  }
  const std::size_t half = all.size() / 2;
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(half), all.end());
  co_await coracle::fork_join(sort_all(all.first(half)), sort_all(all.subspan(half)));
}
void parallel_sort(scenario& run) {
  coracle::static_thread_pool pool{2};
  auto all = unsorted(run.times(numbers_to_sort));
  run.measure([&] { coracle::sync_wait(coracle::schedule_on(sort_all(all), pool)); });
  run.expect(std::is_sorted(all.begin(), all.end()), "sorted numbers");
}
void loop_parallel_sort(scenario& run) {
  auto all = unsorted(run.times(numbers_to_sort));
  run.measure([&] { std::sort(all.begin(), all.end()); });
  run.expect(std::is_sorted(all.begin(), all.end()), "sorted numbers");
}

CORACLE_GROWING_SCENARIO(parallel_sort);
CORACLE_GROWING_SCENARIO(loop_parallel_sort);
}  // namespace
