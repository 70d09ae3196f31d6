// tests/stress/io_run.cpp -- several threads inside run() and process_events() of one io_service.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/io/io_service.hpp>
#include <thread>
#include <vector>

#include "../support/stress.hpp"

namespace {
using coracle::io_service;
using coracle::task;

/// The awaitable of each run ends on any thread, of the service or of a pool, while the run sleeps.
long long run_many(int threads, bool others_process, int turns) {
  io_service io;
  coracle::static_thread_pool pool{1};
  std::atomic<long long> ended{0};
  const auto work = [&](int i) -> task<int> {
    if (i % 2 == 0) co_await pool.schedule();
    if (i % 3 == 0) co_await io.schedule();
    if (i % 5 == 0) co_await pool.schedule();
    co_return 1;
  };
  std::vector<std::thread> all;
  for (int t = 0; t != threads; ++t) {
    all.emplace_back([&, t] {
      for (int i = 0; i != turns; ++i) ended += io.run(work(i + t));
    });
  }
  std::vector<std::thread> processing;
  if (others_process) {
    for (int t = 0; t != 2; ++t) processing.emplace_back([&] { io.process_events(); });
  }
  for (std::thread& each : all) each.join();
  io.stop();
  for (std::thread& each : processing) each.join();
  return ended;
}

/// Services that are destroyed as soon as run() has returned, although another thread ended it.
long long run_and_destroy(int rounds) {
  coracle::static_thread_pool pool{1};
  long long ended = 0;
  const auto work = [&](int i) -> task<int> {
    co_await pool.schedule();
    coracle_test::hold_up(i * 97 % 20'000);
    co_return 1;
  };
  for (int i = 0; i != rounds; ++i) {
    io_service io;
    ended += io.run(work(i));
  }
  return ended;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("io_run", argc, argv, 10'000);
  const int count = run.int_count();
  run.expect("runs on 1 thread", run_many(1, false, count), count);
  run.expect("runs on 3 threads", run_many(3, false, count), 3LL * count);
  run.expect("runs beside others", run_many(2, true, count), 2LL * count);
  run.expect("runs of short-lived services", run_and_destroy(count), count);
  return run.finish();
}
