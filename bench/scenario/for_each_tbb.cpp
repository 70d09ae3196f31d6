// bench/scenario/for_each_tbb.cpp -- the bodies of for_each.cpp with oneTBB's parallel_for.
// SPDX-License-Identifier: MIT
#include <tbb/parallel_for.h>

#include "for_each.hpp"
#include "scenario.hpp"
#include "tbb.hpp"

namespace {
using namespace coracle_bench;

void tbb_for_each_small_body(scenario& run) {
  auto all = unworked(run.times(small_bodies));
  run.measure([&] {
    in_arena(2, [&] {
      tbb::parallel_for(std::size_t{0}, all.size(), [&all](std::size_t i) { small_body(all[i]); });
    });
  });
  run.expect(is_worked(all), "every element is worked on once");
}
void tbb_parallel_for_small_body(scenario& run) { tbb_for_each_small_body(run); }

CORACLE_GROWING_SCENARIO(tbb_parallel_for_small_body);
CORACLE_GROWING_SCENARIO(tbb_for_each_small_body);
}  // namespace
