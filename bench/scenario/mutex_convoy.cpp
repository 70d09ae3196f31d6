// bench/scenario/mutex_convoy.cpp -- a thousand coroutines that share one lock, held a sixth of their time.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/coracle.hpp>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "scenario.hpp"
#include "work.hpp"

namespace {
using coracle::async_mutex;
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;

constexpr int convoy_threads = 2, convoy_members = 1000, rounds_inside = 200, rounds_outside = 1000;
constexpr long turns_a_member = 50;

struct shared_count {
  long turns = 0;
  std::uint64_t result = 1;

  void take_a_turn() noexcept {
    result = spend(result, rounds_inside);
    ++turns;
  }
};

/// Returns the result of the work outside the lock, so that the compiler cannot remove it.
task<std::uint64_t> take_turns(static_thread_pool& pool, async_mutex& mutex, shared_count& shared,
                               long turns) {
  co_await pool.schedule();
  std::uint64_t own = 1;
  for (long i = 0; i != turns; ++i) {
    {
      const auto lock = co_await mutex.scoped_lock_async();
      shared.take_a_turn();
    }
    own = spend(own, rounds_outside);
  }
  co_return own;
}
void mutex_convoy(scenario& run) {
  static_thread_pool pool{convoy_threads};
  async_mutex mutex;
  shared_count shared;
  std::vector<std::uint64_t> outside;
  run.measure([&] {
    std::vector<task<std::uint64_t>> members;
    for (int i = 0; i != convoy_members; ++i)
      members.push_back(take_turns(pool, mutex, shared, run.times(turns_a_member)));
    outside = coracle::sync_wait(coracle::when_all(std::move(members)));
  });
  run.expect(shared.turns == convoy_members * run.times(turns_a_member), "each turn is taken once");
  for (const std::uint64_t each : outside) run.expect(each == outside[0], "the work outside is done");
}

/// The same turns by two threads and a std::mutex.
void threads_mutex_convoy(scenario& run) {
  std::mutex mutex;
  shared_count shared;
  const long turns = convoy_members * run.times(turns_a_member);
  std::array<std::uint64_t, convoy_threads> outside{};
  run.measure([&] {
    std::vector<std::thread> threads;
    for (std::uint64_t& result : outside) {
      threads.emplace_back([&mutex, &shared, &result, mine = turns / convoy_threads] {
        std::uint64_t own = 1;
        for (long turn = 0; turn != mine; ++turn) {
          {
            const std::lock_guard lock{mutex};
            shared.take_a_turn();
          }
          own = spend(own, rounds_outside);
        }
        result = own;
      });
    }
    for (std::thread& each : threads) each.join();
  });
  run.expect(shared.turns == turns, "each turn is taken once");
  run.expect(outside[0] == outside[1], "the work outside is done");
}

CORACLE_GROWING_SCENARIO(mutex_convoy);
CORACLE_GROWING_SCENARIO(threads_mutex_convoy);
}  // namespace
