// bench/scenario/pool_latency_asio.cpp -- the posts of pool_latency.cpp to Boost.Asio's pool.
// SPDX-License-Identifier: MIT
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "../rivals/asio.hpp"
#include "pool_latency.hpp"

namespace {
using namespace coracle_bench;

asio::awaitable<void> keep_busy(const std::atomic<bool>& over, std::chrono::microseconds turn) {
  while (!over.load(std::memory_order_relaxed)) {
    compute_for(turn);
    if (turn.count() != 0) co_await asio::post(asio::use_awaitable);
  }
}
void measure_posts(scenario& run, busy_pool busy) {
  asio::thread_pool pool{busy.threads};
  std::atomic<bool> over{false};
  waits all;
  run.measure([&] {
    for (int i = 0; i != busy.coroutines; ++i)
      asio::co_spawn(pool, keep_busy(over, busy.turn), asio::detached);
    post_now_and_then([&] { asio::post(pool, [&all, sent = wait_clock::now()] { all.note_since(sent); }); });
    over = true;
    pool.join();
  });
  all.pass_to(run);
}
void asio_posts_beside_short_turns(scenario& run) { measure_posts(run, short_turns); }
void asio_posts_beside_short_turns_4_threads(scenario& run) { measure_posts(run, short_turns_4_threads); }
void asio_posts_beside_long_turns(scenario& run) { measure_posts(run, long_turns); }
void asio_posts_beside_loops_without_yield(scenario& run) { measure_posts(run, no_yields); }
CORACLE_SCENARIO(asio_posts_beside_short_turns);
CORACLE_SCENARIO(asio_posts_beside_short_turns_4_threads);
CORACLE_SCENARIO(asio_posts_beside_long_turns);
CORACLE_SCENARIO(asio_posts_beside_loops_without_yield);
}  // namespace
