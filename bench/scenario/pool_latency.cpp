// bench/scenario/pool_latency.cpp -- the latency of posts to a busy pool, and of hops round many pools.
// SPDX-License-Identifier: MIT
#include "pool_latency.hpp"

#include <coracle/compose/async_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <deque>
#include <memory>

namespace {
using namespace coracle_bench;
using coracle::static_thread_pool;
using coracle::task;

task<> keep_busy(const std::atomic<bool>& over, std::chrono::microseconds turn) {
  while (!over.load(std::memory_order_relaxed)) {
    compute_for(turn);
    if (turn.count() != 0) co_await coracle::this_task::yield();
  }
}
task<> note_wait(waits& all, wait_clock::time_point sent) {
  all.note_since(sent);
  co_return;
}
void measure_posts(scenario& run, busy_pool busy) {
  static_thread_pool pool{busy.threads};
  coracle::async_scope scope;
  std::atomic<bool> over{false};
  waits all;
  run.measure([&] {
    for (int i = 0; i != busy.coroutines; ++i) scope.spawn(pool, keep_busy(over, busy.turn));
    post_now_and_then([&] { scope.spawn(pool, note_wait(all, wait_clock::now())); });
    over = true;
    coracle::sync_wait(scope.join());
  });
  all.pass_to(run);
}
void posts_beside_short_turns(scenario& run) { measure_posts(run, short_turns); }
void posts_beside_short_turns_4_threads(scenario& run) { measure_posts(run, short_turns_4_threads); }
void posts_beside_long_turns(scenario& run) { measure_posts(run, long_turns); }
void posts_beside_loops_without_yield(scenario& run) { measure_posts(run, no_yields); }
CORACLE_SCENARIO(posts_beside_short_turns);
CORACLE_SCENARIO(posts_beside_short_turns_4_threads);
CORACLE_SCENARIO(posts_beside_long_turns);
CORACLE_SCENARIO(posts_beside_loops_without_yield);

task<> go_round(std::vector<std::unique_ptr<static_thread_pool>>& pools, long hops) {
  for (long i = 0; i != hops; ++i) co_await pools[static_cast<std::size_t>(i) % pools.size()]->schedule();
}
void hops_round_pools_of_one(scenario& run) {
  std::vector<std::unique_ptr<static_thread_pool>> pools;
  for (long i = 0; i != run.times(ring_places); ++i) pools.push_back(std::make_unique<static_thread_pool>(1));
  run.measure([&] { coracle::sync_wait(go_round(pools, ring_hops)); });
}
CORACLE_GROWING_SCENARIO(hops_round_pools_of_one);

/// Threads that wake each other in a ring.
struct alignas(64) place {
  std::atomic<int> turn{0};
};
void threads_hops_round_pools_of_one(scenario& run) {
  const auto count = static_cast<std::size_t>(run.times(ring_places));
  std::deque<place> places(count);
  const auto pass_on = [&](std::size_t to, int turn) {
    places[to % count].turn.store(turn);
    places[to % count].turn.notify_one();
  };
  constexpr int end = -1;
  std::atomic<long> hops{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i != count; ++i) {
    threads.emplace_back([&, i] {
      for (;;) {
        places[i].turn.wait(0);
        if (places[i].turn.exchange(0) == end) return pass_on(i + 1, end);
        const bool is_last = hops.fetch_add(1) + 1 == ring_hops;
        pass_on(i + 1, is_last ? end : 1);
      }
    });
  }
  run.measure([&] {
    pass_on(0, 1);
    for (std::thread& each : threads) each.join();
  });
  run.expect(hops == ring_hops, "each hop is made once");
}
CORACLE_GROWING_SCENARIO(threads_hops_round_pools_of_one);
}  // namespace
