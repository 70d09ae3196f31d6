// bench/micro/pool_bench.cpp -- moving a coroutine to a pool, and from one pool to another.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <chrono>
#include <coracle/base/park.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <thread>
#include <vector>

#include "measure.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::task;

task<> hop(static_thread_pool& pool, long n) {
  for (long i = 0; i < n; ++i) co_await pool.schedule();
}
void measure_hops(benchmark::State& state, std::size_t threads) {
  static_thread_pool pool{threads};
  coracle_bench::measure(state, 1'000'000, [&pool](long n) { coracle::sync_wait(hop(pool, n)); });
}
void hop_pool_of_1(benchmark::State& state) { measure_hops(state, 1); }
void hop_pool_of_2(benchmark::State& state) { measure_hops(state, 2); }

task<> ping_pong(static_thread_pool& one, static_thread_pool& other, long n) {
  for (long i = 0; i < n; ++i) {
    co_await one.schedule();
    co_await other.schedule();
  }
}
void ping_pong_two_pools(benchmark::State& state) {
  static_thread_pool one{1}, other{1};
  coracle_bench::measure_each(state, 20'000, 2,
                              [&](long n) { coracle::sync_wait(ping_pong(one, other, n)); });
}

/// Two threads that pass one cache line back and forth.
void floor_ping_pong_two_pools(benchmark::State& state) {
  alignas(128) std::atomic<long> turn{0};
  constexpr long end = -1;
  std::thread other{[&turn] {
    for (long seen = 0; seen != end; seen = turn.load(std::memory_order_acquire)) {
      if (seen % 2 != 0) turn.store(seen + 1, std::memory_order_release);
      coracle::detail::spin_pause();
    }
  }};
  long now = 0;
  coracle_bench::measure_each(state, 20'000, 2, [&](long n) {
    for (long i = 0; i < n; ++i) {
      turn.store(now + 1, std::memory_order_release);
      now += 2;
      while (turn.load(std::memory_order_acquire) != now) coracle::detail::spin_pause();
    }
  });
  turn.store(end, std::memory_order_release);
  other.join();
}

/// The cost to the two processors of a coroutine that hops to the other thread and back: a pointer to two
/// cache lines is stored where the other thread polls, which then writes both lines.
struct alignas(64) handed_over {
  long first = 0;
  alignas(64) long second = 0;
};
struct alignas(128) place_for_one {
  std::atomic<handed_over*> item{nullptr};

  handed_over* wait() {
    handed_over* seen;
    while (!(seen = item.load(std::memory_order_acquire))) coracle::detail::spin_pause();
    item.store(nullptr, std::memory_order_relaxed);
    __builtin_prefetch(&seen->second, 1);
    ++seen->first;
    ++seen->second;
    return seen;
  }
  void put(handed_over* it) {
    handed_over* nothing = nullptr;
    item.compare_exchange_strong(nothing, it, std::memory_order_release, std::memory_order_relaxed);
  }
};
void ping_pong_by_hand(benchmark::State& state) {
  place_for_one here, there;
  handed_over frame, end;
  std::thread other{[&] {
    for (handed_over* seen = there.wait(); seen != &end; seen = there.wait()) here.put(seen);
  }};
  coracle_bench::measure_each(state, 20'000, 2, [&](long n) {
    for (long i = 0; i < n; ++i) {
      there.put(&frame);
      here.wait();
    }
  });
  there.put(&end);
  other.join();
}

using clock = std::chrono::steady_clock;
clock::rep now() { return clock::now().time_since_epoch().count(); }
/// The median time from `called_at`, stored by `wake()`, to `woken_at`, stored by the woken thread, which has
/// had time to fall asleep before.
template <class Wake>
void measure_wake_ups(benchmark::State& state, const clock::rep& called_at,
                      const std::atomic<clock::rep>& woken_at, Wake wake) {
  constexpr int wake_ups = 201;
  std::vector<clock::rep> times;
  for (int i = 0; i != wake_ups; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    const clock::rep before = woken_at.load();
    wake();
    while (woken_at.load() == before) std::this_thread::yield();
    times.push_back(woken_at.load() - called_at);
  }
  std::nth_element(times.begin(), times.begin() + wake_ups / 2, times.end());
  state.SetIterationTime(std::chrono::duration<double>(clock::duration{times[wake_ups / 2]}).count());
}
void wake_up_parked_pool(benchmark::State& state) {
  static_thread_pool pool{1};
  clock::rep called_at = 0;
  std::atomic<clock::rep> woken_at{0};
  const auto note = [&]() -> task<> {
    called_at = now();
    co_await pool.schedule();
    woken_at.store(now());
  };
  while (state.KeepRunning())
    measure_wake_ups(state, called_at, woken_at, [&] { coracle::sync_wait(note()); });
}
/// A thread that sleeps on a futex.
void floor_wake_up_parked_pool(benchmark::State& state) {
  clock::rep called_at = 0;
  std::atomic<clock::rep> woken_at{0};
  coracle::detail::atomic<std::uint32_t> calls{0};
  constexpr std::uint32_t end = ~0U;
  std::thread sleeper{[&] {
    for (std::uint32_t seen = 0, next = 0; seen != end; seen = next) {
      while ((next = calls.load()) == seen) coracle::detail::park(calls, seen);
      woken_at.store(now());
    }
  }};
  while (state.KeepRunning()) {
    measure_wake_ups(state, called_at, woken_at, [&] {
      called_at = now();
      calls.fetch_add(1);
      coracle::detail::unpark(&calls, 1);
    });
  }
  calls.store(end);
  coracle::detail::unpark(&calls, 1);
  sleeper.join();
}

/// One call of a recursion whose two branches may run concurrently.
task<long> fibonacci(static_thread_pool& pool, long n) {
  if (n < 2) co_return n;
  const auto [a, b] =
      co_await coracle::when_all(coracle::schedule_on(fibonacci(pool, n - 1), pool), fibonacci(pool, n - 2));
  co_return a + b;
}
void fork_join_pool_of_2(benchmark::State& state) {
  constexpr long calls = 3193;  // of fibonacci(16) and below
  static_thread_pool pool{2};
  coracle_bench::measure_each(state, 20, calls, [&pool](long n) {
    for (long i = 0; i < n; ++i) {
      benchmark::DoNotOptimize(coracle::sync_wait(coracle::schedule_on(fibonacci(pool, 16), pool)));
    }
  });
}

/// By a coroutine that already has that priority.
task<> yield(coracle::pool_level level, long n) {
  co_await level.schedule();
  for (long i = 0; i < n; ++i) co_await coracle::this_task::yield();
}
void hop_high_pool_of_1(benchmark::State& state) {
  static_thread_pool pool{1};
  coracle_bench::measure(state, 1'000'000, [&pool](long n) {
    coracle::sync_wait(yield(pool.with_priority(coracle::static_thread_pool::priority::high), n));
  });
}

CORACLE_BENCH(hop_pool_of_1);
CORACLE_BENCH(hop_pool_of_2);
CORACLE_BENCH(ping_pong_two_pools);
CORACLE_BENCH(floor_ping_pong_two_pools);
CORACLE_BENCH(ping_pong_by_hand);
BENCHMARK(wake_up_parked_pool)->UseManualTime()->Iterations(1);
BENCHMARK(floor_wake_up_parked_pool)->UseManualTime()->Iterations(1);
CORACLE_BENCH(fork_join_pool_of_2);
CORACLE_BENCH(hop_high_pool_of_1);
}  // namespace
