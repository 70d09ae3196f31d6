// bench/scenario/broadcast.cpp -- each of 200 values goes to a thousand subscribers on a pool of two.
// SPDX-License-Identifier: MIT
#include "broadcast.hpp"

#include <coracle/coracle.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "scenario.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;

long sum_of(const std::vector<long>& each) {
  long sum = 0;
  for (const long one : each) sum += one;
  return sum;
}
void expect_all(scenario& run, long sum) {
  const long n = run.times(broadcast_values);
  run.expect(sum == subscribers * (n * (n - 1) / 2), "each subscriber gets each value");
}

task<long> add_up(coracle::broadcast_subscription<long> values) {
  long sum = 0;
  while (const auto value = co_await values.recv()) sum += *value;
  co_return sum;
}
task<long> send_to_all(static_thread_pool& pool, coracle::broadcast<long>& values, long n) {
  co_await pool.schedule();
  for (long i = 0; i != n; ++i) {
    values.send(i);
    co_await coracle::this_task::yield();
  }
  values.close();
  co_return 0;
}
void broadcast_to_1000(scenario& run) {
  static_thread_pool pool{broadcast_threads};
  // It never waits for a subscriber, so it keeps all values.
  coracle::broadcast<long> values{static_cast<std::size_t>(run.times(broadcast_values))};
  long sum = 0;
  run.measure([&] {
    std::vector<task<long>> all;
    for (int i = 0; i != subscribers; ++i)
      all.push_back(coracle::schedule_on(add_up(values.subscribe()), pool));
    all.push_back(send_to_all(pool, values, run.times(broadcast_values)));
    sum = sum_of(coracle::sync_wait(coracle::when_all(std::move(all))));
  });
  expect_all(run, sum);
}

// ---- the same by a channel for each subscriber ----

using inbox = coracle::channel<long>;

task<long> add_up_from(static_thread_pool& pool, inbox& values) {
  co_await pool.schedule();
  long sum = 0;
  while (const auto value = co_await values.recv()) sum += *value;
  co_return sum;
}
task<long> send_to_each(static_thread_pool& pool, std::vector<std::unique_ptr<inbox>>& all, long n) {
  co_await pool.schedule();
  for (long i = 0; i != n; ++i) {
    for (const auto& each : all) co_await each->send(i);
  }
  for (const auto& each : all) each->close();
  co_return 0;
}
void broadcast_by_channels(scenario& run) {
  static_thread_pool pool{broadcast_threads};
  long sum = 0;
  run.measure([&] {
    std::vector<std::unique_ptr<inbox>> inboxes;
    std::vector<task<long>> all;
    for (int i = 0; i != subscribers; ++i) {
      inboxes.push_back(std::make_unique<inbox>(places_a_subscriber));
      all.push_back(add_up_from(pool, *inboxes.back()));
    }
    all.push_back(send_to_each(pool, inboxes, run.times(broadcast_values)));
    sum = sum_of(coracle::sync_wait(coracle::when_all(std::move(all))));
  });
  expect_all(run, sum);
}

CORACLE_GROWING_SCENARIO(broadcast_to_1000);
CORACLE_GROWING_SCENARIO(broadcast_by_channels);
}  // namespace
