// bench/scenario/timers.cpp -- ticks, rate limits, sleeps beside busy coroutines, and a crawl.
// SPDX-License-Identifier: MIT
#include "timers.hpp"

#include <atomic>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <thread>
#include <vector>

#include "scenario.hpp"

namespace {
using coracle::io_service;
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;

/// Sleeps until each of `count` deadlines, and records how late it woke.
task<> sleep_to_a_beat(long count, steady::duration period, lateness& late) {
  auto next = steady::now();
  for (long i = 0; i != count; ++i) {
    next += period;
    co_await coracle::sleep_until(next);
    late.push_back(steady::now() - next);
  }
}

void tick_on_pool(scenario& run) {
  static_thread_pool pool{tick_threads};
  lateness late;
  run.measure(
      [&] { coracle::sync_wait(coracle::schedule_on(sleep_to_a_beat(ticks, tick_period, late), pool)); });
  run.waited(late);
}
CORACLE_SCENARIO(tick_on_pool);

task<> acquire(coracle::rate_limiter& limiter, long count) {
  for (long i = 0; i != count; ++i) co_await limiter.acquire();
}
void limit_on_pool(scenario& run, long rate) {
  static_thread_pool pool{busy_threads};
  coracle::rate_limiter limiter{rate, std::chrono::seconds{1}, burst};
  run.measure([&] { coracle::sync_wait(coracle::schedule_on(acquire(limiter, rate), pool)); });
}
void limit_on_loop(scenario& run, long rate) {
  io_service io;
  coracle::rate_limiter limiter{rate, std::chrono::seconds{1}, burst};
  run.measure([&] { io.run(acquire(limiter, rate)); });
}
void rate_limit_10000(scenario& run) { limit_on_pool(run, fast_rate); }
void rate_limit_10000_on_loop(scenario& run) { limit_on_loop(run, fast_rate); }
void rate_limit_1000_on_loop(scenario& run) { limit_on_loop(run, slow_rate); }
CORACLE_SCENARIO(rate_limit_10000);
CORACLE_SCENARIO(rate_limit_10000_on_loop);
CORACLE_SCENARIO(rate_limit_1000_on_loop);

task<> stay_busy(static_thread_pool& pool, const std::atomic<bool>& over) {
  co_await pool.schedule();
  while (!over.load(std::memory_order_relaxed)) {
    keep_busy(busy_turn);
    co_await coracle::this_task::yield();
  }
}
void sleep_beside_yields(scenario& run) {
  static_thread_pool pool{busy_threads};
  std::atomic<bool> over{false};
  lateness late;
  const auto sleeper = [&]() -> task<> {
    co_await pool.schedule();
    co_await sleep_to_a_beat(busy_sleeps, busy_period, late);
    over = true;
  };
  std::vector<task<>> all;
  for (int i = 0; i != busy_coroutines; ++i) all.push_back(stay_busy(pool, over));
  all.push_back(sleeper());
  run.measure([&] { coracle::sync_wait(coracle::when_all(std::move(all))); });
  run.waited(late);
}
CORACLE_SCENARIO(sleep_beside_yields);

task<> crawl(std::atomic<int>& next) {
  for (int page = next++; page < pages; page = next++) co_await coracle::sleep_for(time_of_page(page));
}
std::vector<task<>> all_crawlers(std::atomic<int>& next) {
  std::vector<task<>> all;
  for (int i = 0; i != crawlers; ++i) all.push_back(crawl(next));
  return all;
}
void crawl_on_pool(scenario& run) {
  static_thread_pool pool{crawl_threads};
  std::atomic<int> next{0};
  run.measure([&] { coracle::sync_wait(coracle::schedule_on(coracle::when_all(all_crawlers(next)), pool)); });
  run.expect(next == pages + crawlers, "every page is fetched once");
}
void crawl_on_loop(scenario& run) {
  io_service io;
  std::atomic<int> next{0};
  run.measure([&] { io.run(coracle::when_all(all_crawlers(next))); });
  run.expect(next == pages + crawlers, "every page is fetched once");
}
CORACLE_SCENARIO(crawl_on_pool);
CORACLE_SCENARIO(crawl_on_loop);

task<> sleep_until(steady::time_point due, long& woken) {
  co_await coracle::sleep_until(due);
  ++woken;
}
/// All are due when the measurement begins.
void timers_come_due(scenario& run) {
  io_service io;
  const long count = run.times(due_timers);
  const auto begun = steady::now();
  long woken = 0;
  coracle::async_scope scope;
  const auto start = [&]() -> task<> {
    for (long i = 0; i != count; ++i) scope.spawn(sleep_until(begun + due_at(i), woken));
    co_return;
  };
  io.run(start());
  std::this_thread::sleep_until(begun + due_after + due_within);
  run.measure([&] { io.run(scope.join()); });
  run.expect(woken == count, "each timer fires once");
}
CORACLE_GROWING_SCENARIO(timers_come_due);
}  // namespace
