// tests/stress/recycler.cpp -- frames of all sizes that are allocated on one thread and freed on another.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "../support/stress.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::task;

std::atomic<long long> damaged{0};

/// Fills its frame with a pattern, and checks it after moving to another thread.
template <std::size_t Words>
task<int> fill(static_thread_pool* pool, std::uint64_t pattern) {
  std::uint64_t words[Words];
  for (std::uint64_t& each : words) each = pattern++;
  if (pool) co_await pool->schedule();
  for (std::size_t i = Words; i-- != 0;) {
    if (words[i] != --pattern) ++damaged;
  }
  co_return 1;
}
task<int> fill_some(static_thread_pool* pool, std::uint64_t number) {
  switch (number % 9) {
    case 0:
      return fill<1>(pool, number);
    case 1:
      return fill<2>(pool, number);
    case 2:
      return fill<5>(pool, number);
    case 3:
      return fill<11>(pool, number);
    case 4:
      return fill<40>(pool, number);
    case 5:
      return fill<90>(pool, number);
    case 6:
      return fill<150>(pool, number);  // a large frame
    case 7:
      return fill<3000>(pool, number);
    default:
      return fill<3>(pool, number);
  }
}

/// Runs children sequentially and concurrently; their frames are allocated here and freed on any thread.
task<int> work(static_thread_pool& pool, int turns, unsigned seed) {
  std::minstd_rand random(seed);
  int ended = 0;
  for (int i = 0; i != turns; ++i) {
    ended += co_await fill_some(&pool, random());
    auto a = fill_some(&pool, random()), b = fill_some(nullptr, random());
    const auto [x, y] = co_await coracle::when_all(std::move(a), std::move(b));
    ended += x + y;
  }
  co_return ended;
}

/// Threads exchange tasks through a shared vector; the thread that takes a task runs it, or destroys it
/// unrun.
long long swap_tasks(int turns) {
  constexpr int threads = 3;
  std::mutex mutex;
  std::vector<task<int>> shelf;
  std::atomic<long long> ended{0};
  const auto run = [&](int turn, unsigned seed) {
    std::minstd_rand random(seed);
    for (int i = 0; i != turn; ++i) {
      task<int> mine = fill_some(nullptr, random());
      task<int> other;
      {
        const std::lock_guard lock(mutex);
        shelf.push_back(std::move(mine));
        std::swap(shelf[random() % shelf.size()], shelf.back());
        if (shelf.size() > 100) {
          other = std::move(shelf.back());
          shelf.pop_back();
        }
      }
      ++ended;
      if (other && i % 3 != 0) static_cast<void>(coracle::sync_wait(std::move(other)));
      if (i % 1000 == 0) coracle::trim_frame_memory();
    }
  };
  std::vector<std::thread> all;
  for (unsigned t = 0; t != threads; ++t) all.emplace_back(run, turns, t + 1);
  for (std::thread& each : all) each.join();
  return ended;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("recycler", argc, argv, 10'000);
  long long ended = 0;
  for (unsigned repeat = 0; repeat != 3; ++repeat) {  // pool threads end, and their caches with them
    static_thread_pool pool{3};
    std::vector<task<int>> all;
    for (unsigned i = 0; i != 4; ++i) all.push_back(work(pool, run.int_count(), 4 * repeat + i + 1));
    const auto results = coracle::sync_wait(coracle::when_all(std::move(all)));
    for (const int each : results) ended += each;
  }
  run.expect("frames ended elsewhere", ended, 36LL * run.count());
  run.expect("frames swapped", swap_tasks(run.int_count()), 3LL * run.count());
  run.expect("damaged words", damaged.load(), 0);
  return run.finish();
}
