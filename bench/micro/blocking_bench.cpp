// bench/micro/blocking_bench.cpp -- a call on another thread, and the return from it.
// SPDX-License-Identifier: MIT
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/blocking.hpp>
#include <coracle/exec/run_loop.hpp>
#include <semaphore>
#include <thread>

#include "measure.hpp"

namespace {
coracle::task<> call(coracle::run_loop& home, coracle::blocking_pool& pool, long n) {
  co_await home.schedule();
  const auto nothing = [] {};
  for (long i = 0; i < n; ++i) co_await coracle::blocking(pool, nothing);
  home.stop();
}
void blocking_call(benchmark::State& state) {
  coracle::run_loop home;
  coracle::blocking_pool pool{1};
  coracle_bench::measure(state, 2'000, [&](long n) {
    std::thread runner{[&] { home.run(); }};
    coracle::sync_wait(call(home, pool, n));
    runner.join();
  });
}
/// Two threads that wake each other.
void floor_blocking_call(benchmark::State& state) {
  std::binary_semaphore there{0}, back{0};
  coracle_bench::measure(state, 2'000, [&](long n) {
    std::thread other{[&] {
      for (long i = 0; i < n; ++i) {
        there.acquire();
        back.release();
      }
    }};
    for (long i = 0; i < n; ++i) {
      there.release();
      back.acquire();
    }
    other.join();
  });
}

CORACLE_BENCH(blocking_call);
CORACLE_BENCH(floor_blocking_call);
}  // namespace
