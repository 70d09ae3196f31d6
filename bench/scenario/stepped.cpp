// bench/scenario/stepped.cpp -- eight coroutines meet after each step, on a pool of two threads.
// SPDX-License-Identifier: MIT
#include "stepped.hpp"

#include <barrier>
#include <coracle/coracle.hpp>
#include <thread>
#include <vector>

#include "scenario.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;

void expect_world(scenario& run, const simulated& world) {
  const long n = run.times(steps);
  run.expect(world.all[0].state[static_cast<std::size_t>(n % 2)] == stepped_by_loop(n),
             "what a loop computes");
}

task<> simulate(static_thread_pool& pool, coracle::async_barrier<>& end_of_step, simulated& world, int body,
                long n) {
  co_await pool.schedule();
  for (long i = 0; i != n; ++i) {
    world.step(body, i);
    co_await end_of_step.arrive_and_wait();
  }
}
void stepped_simulation(scenario& run) {
  static_thread_pool pool{2};
  coracle::async_barrier<> end_of_step{bodies};
  simulated world;
  run.measure([&] {
    std::vector<task<>> all;
    for (int i = 0; i != bodies; ++i) all.push_back(simulate(pool, end_of_step, world, i, run.times(steps)));
    coracle::sync_wait(coracle::when_all(std::move(all)));
  });
  expect_world(run, world);
}
/// Divides the bodies between two threads, as a program with plain threads would on two processors.
void threads_stepped_simulation(scenario& run) {
  std::barrier end_of_step{2};
  simulated world;
  run.measure([&] {
    const auto simulate_half = [&](int first) {
      for (long i = 0; i != run.times(steps); ++i) {
        for (int body = first; body != first + bodies / 2; ++body) world.step(body, i);
        end_of_step.arrive_and_wait();
      }
    };
    std::thread other{simulate_half, bodies / 2};
    simulate_half(0);
    other.join();
  });
  expect_world(run, world);
}
void loop_stepped_simulation(scenario& run) {
  std::uint64_t state = 0;
  run.measure([&] { state = stepped_by_loop(run.times(steps)); });
  run.expect(state == stepped_by_loop(run.times(steps)), "the same again");
}

CORACLE_GROWING_SCENARIO(stepped_simulation);
CORACLE_GROWING_SCENARIO(threads_stepped_simulation);
CORACLE_GROWING_SCENARIO(loop_stepped_simulation);
}  // namespace
