// tests/stress/runtime_metrics.cpp -- metrics are read while schedulers begin, run and end.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/inspect/runtime_metrics.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/time/sleep.hpp>
#include <thread>

#include "../support/socket_pair.hpp"
#include "../support/stress.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::task;

task<> work_on(coracle::static_thread_pool& pool) {
  for (int i = 0; i != 20; ++i) co_await pool.schedule();
  co_await coracle::sleep_for(10us);
}
task<> wait_and_send(coracle::io_service& io, coracle_test::socket_pair& pair) {
  co_await io.schedule_after(20us);
  co_await coracle_test::send(pair.second, "x", 1);
}
task<> receive_one(coracle_test::socket_pair& pair) {
  char received;
  co_await coracle_test::receive(pair.first, &received, 1);
}

long long run_schedulers(int rounds) {
  long long ended = 0;
  const auto all = [](coracle::io_service& io, coracle::static_thread_pool& pool) -> task<> {
    coracle_test::socket_pair pair{io};
    co_await coracle::when_all(work_on(pool), work_on(pool), receive_one(pair), wait_and_send(io, pair));
  };
  for (int i = 0; i != rounds; ++i) {
    coracle::static_thread_pool pool{2};
    coracle::io_service io;
    io.run(all(io, pool));
    ++ended;
  }
  return ended;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("runtime_metrics", argc, argv, 300);
  std::atomic<bool> over{false};
  long long wrong = 0, rows = 0;
  std::thread reader([&] {
    while (!over.load(std::memory_order_relaxed)) {
      const coracle::runtime_metrics found = coracle::read_runtime_metrics();
      for (const coracle::pool_metrics& each : found.pools) wrong += each.workers.size() != 2;
      for (const coracle::io_service_metrics& each : found.io_services)
        wrong += each.threads.size() > 1 || each.descriptors > 2 || each.pending.size() > 1;
      rows += static_cast<long long>(found.pools.size() + found.io_services.size());
    }
  });
  const long long ended = run_schedulers(run.int_count());
  over.store(true, std::memory_order_relaxed);
  reader.join();
  run.expect("rounds", ended, run.int_count());
  run.expect("wrong rows", wrong, 0);
  run.expect("some rows", rows > 0, 1);
  return run.finish();
}
