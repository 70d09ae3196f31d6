// bench/scenario/timers_asio.cpp -- the programs of timers.cpp with Boost.Asio's steady_timer.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <thread>

#include "../rivals/asio.hpp"
#include "scenario.hpp"
#include "timers.hpp"

namespace {
using namespace coracle_bench;

asio::awaitable<void> sleep_to_a_beat(long count, steady::duration period, lateness& late) {
  asio::steady_timer timer{co_await asio::this_coro::executor};
  auto next = steady::now();
  for (long i = 0; i != count; ++i) {
    next += period;
    timer.expires_at(next);
    co_await timer.async_wait(asio::deferred);
    late.push_back(steady::now() - next);
  }
}

void asio_tick_on_pool(scenario& run) {
  lateness late;
  asio::thread_pool pool{tick_threads};
  run.measure([&] {
    asio::co_spawn(pool, sleep_to_a_beat(ticks, tick_period, late), asio::detached);
    pool.join();
  });
  run.waited(late);
}
CORACLE_SCENARIO(asio_tick_on_pool);

/// Asio has no rate limiter: sleeps for as long as one would.
void limit_on_pool(scenario& run, long rate) {
  lateness late;
  asio::thread_pool pool{busy_threads};
  run.measure([&] {
    asio::co_spawn(pool, sleep_to_a_beat(rate, std::chrono::nanoseconds{1'000'000'000 / rate}, late),
                   asio::detached);
    pool.join();
  });
}
void limit_on_loop(scenario& run, long rate) {
  lateness late;
  asio::io_context io{1};
  run.measure([&] {
    asio::co_spawn(io, sleep_to_a_beat(rate, std::chrono::nanoseconds{1'000'000'000 / rate}, late),
                   asio::detached);
    io.run();
  });
}
void asio_rate_limit_10000(scenario& run) { limit_on_pool(run, fast_rate); }
void asio_rate_limit_10000_on_loop(scenario& run) { limit_on_loop(run, fast_rate); }
void asio_rate_limit_1000_on_loop(scenario& run) { limit_on_loop(run, slow_rate); }
CORACLE_SCENARIO(asio_rate_limit_10000);
CORACLE_SCENARIO(asio_rate_limit_10000_on_loop);
CORACLE_SCENARIO(asio_rate_limit_1000_on_loop);

asio::awaitable<void> stay_busy(const std::atomic<bool>& over) {
  while (!over.load(std::memory_order_relaxed)) {
    keep_busy(busy_turn);
    co_await asio::post(asio::deferred);
  }
}
void asio_sleep_beside_yields(scenario& run) {
  std::atomic<bool> over{false};
  lateness late;
  asio::thread_pool pool{busy_threads};
  const auto sleeper = [&]() -> asio::awaitable<void> {
    co_await sleep_to_a_beat(busy_sleeps, busy_period, late);
    over = true;
  };
  run.measure([&] {
    for (int i = 0; i != busy_coroutines; ++i) asio::co_spawn(pool, stay_busy(over), asio::detached);
    asio::co_spawn(pool, sleeper, asio::detached);
    pool.join();
  });
  run.waited(late);
}
CORACLE_SCENARIO(asio_sleep_beside_yields);

asio::awaitable<void> crawl(std::atomic<int>& next) {
  asio::steady_timer timer{co_await asio::this_coro::executor};
  for (int page = next++; page < pages; page = next++) {
    timer.expires_after(time_of_page(page));
    co_await timer.async_wait(asio::deferred);
  }
}
void asio_crawl_on_pool(scenario& run) {
  std::atomic<int> next{0};
  asio::thread_pool pool{crawl_threads};
  run.measure([&] {
    for (int i = 0; i != crawlers; ++i) asio::co_spawn(pool, crawl(next), asio::detached);
    pool.join();
  });
  run.expect(next == pages + crawlers, "every page is fetched once");
}
void asio_crawl_on_loop(scenario& run) {
  std::atomic<int> next{0};
  asio::io_context io{1};
  run.measure([&] {
    for (int i = 0; i != crawlers; ++i) asio::co_spawn(io, crawl(next), asio::detached);
    io.run();
  });
  run.expect(next == pages + crawlers, "every page is fetched once");
}
CORACLE_SCENARIO(asio_crawl_on_pool);
CORACLE_SCENARIO(asio_crawl_on_loop);

asio::awaitable<void> sleep_until(steady::time_point due, long& woken) {
  asio::steady_timer timer{co_await asio::this_coro::executor, due};
  co_await timer.async_wait(asio::deferred);
  ++woken;
}
void asio_timers_come_due(scenario& run) {
  asio::io_context io{1};
  const long count = run.times(due_timers);
  const auto begun = steady::now();
  long woken = 0;
  for (long i = 0; i != count; ++i) asio::co_spawn(io, sleep_until(begun + due_at(i), woken), asio::detached);
  io.poll();
  std::this_thread::sleep_until(begun + due_after + due_within);
  run.measure([&] { io.run(); });
  run.expect(woken == count, "each timer fires once");
}
CORACLE_GROWING_SCENARIO(asio_timers_come_due);
}  // namespace
