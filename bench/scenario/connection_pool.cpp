// bench/scenario/connection_pool.cpp -- two hundred clients share eight connections, on two threads.
// SPDX-License-Identifier: MIT
#include "connection_pool.hpp"

#include <coracle/coracle.hpp>

#include "scenario.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;
using clock = std::chrono::steady_clock;

void finish(scenario& run, const queries& all) {
  for (const auto& each : all.waits) run.waited(each);
  run.expect(!all.too_many && all.done == clients * run.times(queries_of_client),
             "each query has a connection");
}

task<> client(static_thread_pool& pool, coracle::async_semaphore& free, queries& all, int number, long n) {
  co_await pool.schedule();
  auto& waits = all.waits[static_cast<std::size_t>(number)];
  for (long i = 0; i != n; ++i) {
    const auto asked = clock::now();
    const auto permit = co_await free.scoped_acquire();
    waits.push_back(clock::now() - asked);
    all.begin();
    co_await coracle::this_task::yield();  // simulates waiting for the answer
    all.end();
  }
}
void connection_pool(scenario& run) {
  static_thread_pool pool{2};
  coracle::async_semaphore free{connections};
  queries all;
  run.measure([&] {
    std::vector<task<>> tasks;
    for (int i = 0; i != clients; ++i)
      tasks.push_back(client(pool, free, all, i, run.times(queries_of_client)));
    coracle::sync_wait(coracle::when_all(std::move(tasks)));
  });
  finish(run, all);
}

CORACLE_GROWING_SCENARIO(connection_pool);
}  // namespace
