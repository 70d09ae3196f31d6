// bench/scenario/mutex_convoy.cpp -- a thousand coroutines that share one lock, held a sixth of their time.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/coracle.hpp>
#include <cstdint>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "scenario.hpp"
#include "work.hpp"

namespace {
using coracle::async_mutex;
using coracle::async_semaphore;
using coracle::async_shared_mutex;
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
  [[nodiscard]] std::uint64_t look() const noexcept { return spend(result, rounds_inside); }
};
/// Of the turns with a shared lock, one in ten.
constexpr bool writes(long turn) { return turn % 10 == 0; }

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
task<std::uint64_t> take_turns(static_thread_pool& pool, async_semaphore& semaphore, shared_count& shared,
                               long turns) {
  co_await pool.schedule();
  std::uint64_t own = 1;
  for (long i = 0; i != turns; ++i) {
    {
      const auto permit = co_await semaphore.scoped_acquire();
      shared.take_a_turn();
    }
    own = spend(own, rounds_outside);
  }
  co_return own;
}
task<std::uint64_t> take_turns(static_thread_pool& pool, async_shared_mutex& mutex, shared_count& shared,
                               long turns) {
  co_await pool.schedule();
  std::uint64_t own = 1, seen = 0;
  for (long i = 0; i != turns; ++i) {
    if (writes(i)) {
      const auto lock = co_await mutex.scoped_lock_async();
      shared.take_a_turn();
    } else {
      const auto lock = co_await mutex.scoped_lock_shared_async();
      seen |= shared.look();
    }
    own = spend(own, rounds_outside);
  }
  co_return seen == 1 ? 0 : own;
}

template <class Lock, class... Permits>
void convoy(scenario& run, long counted_turns, Permits... permits) {
  static_thread_pool pool{convoy_threads};
  Lock lock{permits...};
  shared_count shared;
  std::vector<std::uint64_t> outside;
  run.measure([&] {
    std::vector<task<std::uint64_t>> members;
    for (int i = 0; i != convoy_members; ++i)
      members.push_back(take_turns(pool, lock, shared, run.times(turns_a_member)));
    outside = coracle::sync_wait(coracle::when_all(std::move(members)));
  });
  run.expect(shared.turns == convoy_members * run.times(counted_turns), "each turn is taken once");
  for (const std::uint64_t each : outside) run.expect(each == outside[0], "the work outside is done");
}
void mutex_convoy(scenario& run) { convoy<async_mutex>(run, turns_a_member); }
void semaphore_convoy(scenario& run) { convoy<async_semaphore>(run, turns_a_member, 1); }
void shared_mutex_convoy(scenario& run) { convoy<async_shared_mutex>(run, turns_a_member / 10); }

// ---- the same turns by two threads ----

struct by_mutex {
  std::mutex mutex;
  std::uint64_t turn(shared_count& shared, long) {
    const std::lock_guard lock{mutex};
    shared.take_a_turn();
    return 0;
  }
};
struct by_semaphore {
  std::counting_semaphore<> semaphore{1};
  std::uint64_t turn(shared_count& shared, long) {
    semaphore.acquire();
    shared.take_a_turn();
    semaphore.release();
    return 0;
  }
};
struct by_shared_mutex {
  std::shared_mutex mutex;
  std::uint64_t turn(shared_count& shared, long number) {
    if (writes(number)) {
      const std::lock_guard lock{mutex};
      shared.take_a_turn();
      return 0;
    }
    const std::shared_lock lock{mutex};
    return shared.look();
  }
};
template <class Lock>
void convoy_of_threads(scenario& run, long counted_turns) {
  Lock lock;
  shared_count shared;
  const long turns = convoy_members * run.times(turns_a_member);
  std::array<std::uint64_t, convoy_threads> outside{};
  run.measure([&] {
    std::vector<std::thread> threads;
    for (std::uint64_t& result : outside) {
      threads.emplace_back([&lock, &shared, &result, mine = turns / convoy_threads] {
        std::uint64_t own = 1, seen = 0;
        for (long turn = 0; turn != mine; ++turn) {
          seen |= lock.turn(shared, turn);
          own = spend(own, rounds_outside);
        }
        result = seen == 1 ? 0 : own;
      });
    }
    for (std::thread& each : threads) each.join();
  });
  run.expect(shared.turns == convoy_members * run.times(counted_turns), "each turn is taken once");
  run.expect(outside[0] == outside[1], "the work outside is done");
}
void threads_mutex_convoy(scenario& run) { convoy_of_threads<by_mutex>(run, turns_a_member); }
void threads_semaphore_convoy(scenario& run) { convoy_of_threads<by_semaphore>(run, turns_a_member); }
void threads_shared_mutex_convoy(scenario& run) {
  convoy_of_threads<by_shared_mutex>(run, turns_a_member / 10);
}

CORACLE_GROWING_SCENARIO(mutex_convoy);
CORACLE_GROWING_SCENARIO(threads_mutex_convoy);
CORACLE_GROWING_SCENARIO(semaphore_convoy);
CORACLE_GROWING_SCENARIO(threads_semaphore_convoy);
CORACLE_GROWING_SCENARIO(shared_mutex_convoy);
CORACLE_GROWING_SCENARIO(threads_shared_mutex_convoy);
}  // namespace
