// bench/scenario/pipeline.cpp -- three stages joined by channels, on a pool of two threads; on two pools.
// SPDX-License-Identifier: MIT
#include "pipeline.hpp"

#include <coracle/coracle.hpp>
#include <thread>

#include "blocking_queue.hpp"
#include "scenario.hpp"

namespace {
using coracle::spsc_channel;
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;

using channel = spsc_channel<std::uint64_t>;

task<> parse_all(static_thread_pool& pool, channel& to, long n) {
  co_await pool.schedule();
  for (long i = 0; i != n; ++i) co_await to.send(parse(static_cast<std::uint64_t>(i)));
  to.close();
}
task<> enrich_all(static_thread_pool& pool, channel& from, channel& to) {
  co_await pool.schedule();
  while (const auto next = co_await from.recv()) co_await to.send(enrich(*next));
  to.close();
}
task<> store_all(static_thread_pool& pool, channel& from, std::uint64_t& sum) {
  co_await pool.schedule();
  while (const auto next = co_await from.recv()) sum = store(sum, *next);
}
void pipeline(scenario& run) {
  static_thread_pool pool{2};
  channel parsed{pipe_places}, enriched{pipe_places};
  std::uint64_t sum = 0;
  run.measure([&] {
    coracle::sync_wait(coracle::when_all(parse_all(pool, parsed, run.times(piped_items)),
                                         enrich_all(pool, parsed, enriched), store_all(pool, enriched, sum)));
  });
  run.expect(sum == piped_by_loop(run.times(piped_items)), "what a loop computes");
}
/// The producer is on one pool, the rest on another: backpressure works across both.
void pipeline_over_two_pools(scenario& run) {
  static_thread_pool front{1}, back{1};
  channel parsed{pipe_places}, enriched{pipe_places};
  std::uint64_t sum = 0;
  run.measure([&] {
    coracle::sync_wait(coracle::when_all(parse_all(front, parsed, run.times(piped_items)),
                                         enrich_all(back, parsed, enriched), store_all(back, enriched, sum)));
  });
  run.expect(sum == piped_by_loop(run.times(piped_items)), "what a loop computes");
}

void threads_pipeline(scenario& run) {
  blocking_queue<std::uint64_t> parsed{pipe_places}, enriched{pipe_places};
  std::uint64_t sum = 0;
  run.measure([&] {
    std::thread first{[&] {
      for (long i = 0; i != run.times(piped_items); ++i) parsed.put(parse(static_cast<std::uint64_t>(i)));
      parsed.close();
    }};
    std::thread second{[&] {
      while (const auto next = parsed.take()) enriched.put(enrich(*next));
      enriched.close();
    }};
    while (const auto next = enriched.take()) sum = store(sum, *next);
    first.join();
    second.join();
  });
  run.expect(sum == piped_by_loop(run.times(piped_items)), "what a loop computes");
}
void threads_pipeline_over_two_pools(scenario& run) { threads_pipeline(run); }
void loop_pipeline(scenario& run) {
  std::uint64_t sum = 0;
  run.measure([&] { sum = piped_by_loop(run.times(piped_items)); });
  run.expect(sum == piped_by_loop(run.times(piped_items)), "the same again");
}

CORACLE_GROWING_SCENARIO(pipeline);
CORACLE_GROWING_SCENARIO(pipeline_over_two_pools);
CORACLE_GROWING_SCENARIO(threads_pipeline);
CORACLE_GROWING_SCENARIO(threads_pipeline_over_two_pools);
CORACLE_GROWING_SCENARIO(loop_pipeline);
}  // namespace
