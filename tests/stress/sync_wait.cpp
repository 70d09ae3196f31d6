// tests/stress/sync_wait.cpp -- plain threads wait for coroutines that end on other threads.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <thread>
#include <vector>

#include "../support/stress.hpp"

namespace {
using coracle::task;

template <class Scheduler>
task<int> square_on(Scheduler& place, int n, bool move) {
  if (move) co_await place.schedule();
  co_return n* n;
}

/// Four threads at once; the last line of each wait races with the completion on the other thread.
template <class Scheduler>
long long wait_on_four_threads(Scheduler& place, int turns) {
  std::atomic<long long> right{0};
  std::vector<std::thread> all;
  for (int t = 0; t != 4; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i != turns; ++i) {
        const int n = i % 1000;
        if (coracle::sync_wait(square_on(place, n, i % 5 != 0)) == n * n) ++right;
      }
    });
  }
  for (std::thread& each : all) each.join();
  return right;
}

/// Two threads wake each other, each blocked in sync_wait.
long long ping_pong(int turns) {
  coracle::async_auto_reset_event ping, pong;
  long long answers = 0;
  std::thread other([&] {
    for (int i = 0; i != turns; ++i) {
      coracle::sync_wait(ping);
      pong.set();
    }
  });
  for (int i = 0; i != turns; ++i) {
    ping.set();
    coracle::sync_wait(pong);
    ++answers;
  }
  other.join();
  return answers;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("sync_wait", argc, argv, 20'000);
  {
    coracle::static_thread_pool pool{2};
    run.expect("results from a pool", wait_on_four_threads(pool, run.int_count()), 4LL * run.count());
  }
  {
    coracle::run_loop loop;
    std::thread runner([&] { loop.run(); });
    run.expect("results from a loop", wait_on_four_threads(loop, run.int_count()), 4LL * run.count());
    loop.stop();
    runner.join();
  }
  run.expect("answers", ping_pong(run.int_count()), run.count());
  return run.finish();
}
