// bench/scenario/for_each.cpp -- a small body for each element of a vector, on a pool of two threads.
// SPDX-License-Identifier: MIT
#include "for_each.hpp"

#include <coracle/coracle.hpp>

#include "scenario.hpp"

namespace {
using namespace coracle_bench;

/// A coroutine for each element, with a concurrency limit of eight.
void for_each_small_body(scenario& run) {
  coracle::static_thread_pool pool{2};
  auto all = unworked(run.times(small_bodies));
  const auto body = [](std::uint64_t& element) -> coracle::task<> {
    small_body(element);
    co_return;
  };
  run.measure(
      [&] { coracle::sync_wait(coracle::schedule_on(coracle::for_each_concurrent(all, 8, body), pool)); });
  run.expect(is_worked(all), "every element is worked on once");
}
/// A plain function for each element, in chunks.
void parallel_for_small_body(scenario& run) {
  coracle::static_thread_pool pool{2};
  auto all = unworked(run.times(small_bodies));
  run.measure([&] { coracle::sync_wait(coracle::parallel_for(pool, all, small_body)); });
  run.expect(is_worked(all), "every element is worked on once");
}
void loop_for_each_small_body(scenario& run) {
  auto all = unworked(run.times(small_bodies));
  run.measure([&] {
    for (auto& element : all) small_body(element);
  });
  run.expect(is_worked(all), "every element is worked on once");
}
void loop_parallel_for_small_body(scenario& run) { loop_for_each_small_body(run); }

CORACLE_GROWING_SCENARIO(for_each_small_body);
CORACLE_GROWING_SCENARIO(parallel_for_small_body);
CORACLE_GROWING_SCENARIO(loop_parallel_for_small_body);
CORACLE_GROWING_SCENARIO(loop_for_each_small_body);
}  // namespace
