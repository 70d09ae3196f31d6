// bench/scenario/pipeline_tbb.cpp -- the stages of pipeline.cpp with oneTBB's parallel_pipeline.
// SPDX-License-Identifier: MIT
#include <tbb/parallel_pipeline.h>

#include "pipeline.hpp"
#include "scenario.hpp"
#include "tbb.hpp"

namespace {
using namespace coracle_bench;

void tbb_pipeline(scenario& run) {
  std::uint64_t sum = 0;
  run.measure([&] {
    in_arena(2, [&] {
      long next = 0;
      const auto read = [&](tbb::flow_control& control) {
        if (next == run.times(piped_items)) control.stop();
        return parse(static_cast<std::uint64_t>(next++));
      };
      const auto change = [](std::uint64_t item) { return enrich(item); };
      const auto add = [&sum](std::uint64_t item) { sum = store(sum, item); };
      constexpr auto in_order = tbb::filter_mode::serial_in_order;
      tbb::parallel_pipeline(pipe_places,
                             tbb::make_filter<void, std::uint64_t>(in_order, read) &
                                 tbb::make_filter<std::uint64_t, std::uint64_t>(in_order, change) &
                                 tbb::make_filter<std::uint64_t, void>(in_order, add));
    });
  });
  run.expect(sum == piped_by_loop(run.times(piped_items)), "what a loop computes");
}

CORACLE_GROWING_SCENARIO(tbb_pipeline);
}  // namespace
