// tour/sync_mutex.cpp -- station 3, second part: coroutines on a pool fight for one async_mutex.
// SPDX-License-Identifier: MIT
#include "sync_mutex.hpp"

#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <mutex>
#include <vector>

#include "allocations.hpp"
#include "clock.hpp"

namespace tour {
namespace {
using coracle::task;

struct arena {
  explicit arena(std::size_t threads) : pool(threads) {}
  coracle::static_thread_pool pool;
  coracle::async_mutex mutex;
  contention result;
};

// Reads, goes away and writes: any other coroutine in between would spoil the count.
task<> fight(arena& at, std::uint64_t rounds) {
  co_await at.pool.schedule();
  for (std::uint64_t i = 0; i != rounds; ++i) {
    const bool at_once = at.mutex.try_lock();
    if (!at_once) co_await at.mutex.lock_async();
    const auto held = coracle::async_mutex_lock::adopt(at.mutex);
    if (!at_once) ++at.result.waits;
    const std::uint64_t seen = at.result.counted;
    co_await at.pool.schedule();
    at.result.counted = seen + 1;
  }
}

task<> fight_all(arena& at, std::uint64_t rounds) {
  std::vector<task<>> everyone;
  for (std::size_t i = 0; i != at.result.coroutines; ++i) everyone.push_back(fight(at, rounds));
  auto all = coracle::when_all(std::move(everyone));
  const allocation_count allocations;
  const stopwatch watch;
  co_await std::move(all);
  at.result.nanoseconds = watch.nanoseconds();
  at.result.allocations = allocations.calls();
}

task<double> lock_async_alone(coracle::async_mutex& mutex, std::uint64_t rounds) {
  const stopwatch watch;
  for (std::uint64_t i = 0; i != rounds; ++i) {
    const auto held = co_await mutex.scoped_lock_async();
    asm volatile("" : : : "memory");
  }
  co_return watch.nanoseconds() / static_cast<double>(rounds);
}
}  // namespace

contention fight_for_mutex(std::size_t coroutines, std::uint64_t rounds, std::size_t threads) {
  arena at(threads);
  at.result.coroutines = coroutines;
  at.result.threads = threads;
  at.result.locks = coroutines * rounds;
  coracle::sync_wait(fight_all(at, rounds));
  return at.result;
}

uncontended lock_alone(std::uint64_t rounds) {
  uncontended result;
  coracle::async_mutex mutex;
  result.async_nanoseconds = coracle::sync_wait(lock_async_alone(mutex, rounds));
  std::mutex ordinary;
  const stopwatch watch;
  for (std::uint64_t i = 0; i != rounds; ++i) {
    const std::lock_guard held(ordinary);
    asm volatile("" : : : "memory");
  }
  result.std_nanoseconds = watch.nanoseconds() / static_cast<double>(rounds);
  return result;
}
}  // namespace tour
