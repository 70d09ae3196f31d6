// bench/scenario/sort_tbb.cpp -- the numbers of sort.cpp, divided in the same way with oneTBB's task_group.
// SPDX-License-Identifier: MIT
#include <tbb/task_group.h>

#include <algorithm>
#include <span>

#include "scenario.hpp"
#include "sort.hpp"
#include "tbb.hpp"

namespace {
using namespace coracle_bench;

void sort_all(std::span<std::uint64_t> all) {
  if (all.size() <= 1000) return std::sort(all.begin(), all.end());
  const std::size_t half = all.size() / 2;
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(half), all.end());
  tbb::task_group left;
  left.run([all, half] { sort_all(all.first(half)); });
  sort_all(all.subspan(half));
  left.wait();
}
void tbb_parallel_sort(scenario& run) {
  auto all = unsorted(run.times(numbers_to_sort));
  run.measure([&] { in_arena(2, [&] { sort_all(all); }); });
  run.expect(std::is_sorted(all.begin(), all.end()), "sorted numbers");
}

CORACLE_GROWING_SCENARIO(tbb_parallel_sort);
}  // namespace
