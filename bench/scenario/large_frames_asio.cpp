// bench/scenario/large_frames_asio.cpp -- the tasks of large_frames.cpp as coroutines of Boost.Asio.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <latch>

#include "large_frames.hpp"
#include "scenario.hpp"

namespace {
namespace asio = boost::asio;
using namespace coracle_bench;

asio::awaitable<void> with_large_locals(asio::thread_pool& pool, long number, std::atomic<long>& sum,
                                        std::latch& running) {
  large_object local = filled(number);
  use(local);
  co_await asio::post(pool, asio::deferred);
  use(local);
  sum.fetch_add(local[0], std::memory_order_relaxed);
  running.count_down();
}
void asio_tasks_with_large_locals(scenario& run) {
  asio::thread_pool pool{1};
  const long tasks = run.times(tasks_in_wave);
  std::atomic<long> sum{0};
  run.measure([&] {
    for (int wave = 0; wave != waves; ++wave) {
      std::latch running{tasks};
      for (long i = 0; i != tasks; ++i)
        asio::co_spawn(pool, with_large_locals(pool, i % 100, sum, running), asio::detached);
      running.wait();
    }
    pool.join();
  });
  run.expect(sum == waves * (tasks / 100) * 4950, "the sum of all numbers");
}

asio::awaitable<void> with_large_locals_elsewhere(long number, std::atomic<long>& sum, std::latch& running) {
  large_object local = filled(number);
  use(local);
  sum.fetch_add(local[0], std::memory_order_relaxed);
  running.count_down();
  co_return;
}
void asio_large_frames_freed_elsewhere(scenario& run) {
  asio::thread_pool pool{1};
  const long tasks = run.times(tasks_in_wave);
  std::atomic<long> sum{0};
  run.measure([&] {
    for (int wave = 0; wave != waves; ++wave) {
      std::latch running{tasks};
      for (long i = 0; i != tasks; ++i)
        asio::co_spawn(pool, with_large_locals_elsewhere(i % 100, sum, running), asio::detached);
      running.wait();
    }
    pool.join();
  });
  run.expect(sum == waves * (tasks / 100) * 4950, "the sum of all numbers");
}
CORACLE_GROWING_SCENARIO(asio_tasks_with_large_locals);
CORACLE_GROWING_SCENARIO(asio_large_frames_freed_elsewhere);
}  // namespace
