// bench/scenario/stepped_tbb.cpp -- the simulation of stepped.cpp, a parallel_for of oneTBB for each step.
// SPDX-License-Identifier: MIT
#include <tbb/parallel_for.h>

#include "scenario.hpp"
#include "stepped.hpp"
#include "tbb.hpp"

namespace {
using namespace coracle_bench;

void tbb_stepped_simulation(scenario& run) {
  simulated world;
  const long n = run.times(steps);
  run.measure([&] {
    in_arena(2, [&] {
      for (long i = 0; i != n; ++i) tbb::parallel_for(0, bodies, [&](int body) { world.step(body, i); });
    });
  });
  run.expect(world.all[0].state[static_cast<std::size_t>(n % 2)] == stepped_by_loop(n),
             "what a loop computes");
}

CORACLE_GROWING_SCENARIO(tbb_stepped_simulation);
}  // namespace
