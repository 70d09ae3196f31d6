// bench/micro/timer_bench.cpp -- timers by the million, and how late a short sleep is.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/detail/timer_wheel.hpp>
#include <coracle/time/sleep.hpp>
#include <vector>

#include "measure.hpp"
#include "random_delays.hpp"
#include "resident_bytes.hpp"

namespace {
using coracle::task;
using coracle::timer_service;
using coracle::detail::timer;
using coracle::detail::timer_node;
using coracle::detail::timer_wheel;
using coracle::testing::virtual_time_loop;
using coracle_bench::measure;
using coracle_bench::million;
using coracle_bench::random_delays;
using steady = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr std::chrono::seconds minute{60}, second{1};

// ---- create and cancel: sets a million timers, then removes them all -----------------------------------

void floor_timer_create_cancel(benchmark::State& state) {
  const auto after = random_delays(minute);
  std::vector<timer_node> all(million);
  timer_wheel wheel{1};
  measure(state, million, [&](long) {
    for (std::size_t i = 0; i != million; ++i) {
      wheel.insert(all[i], wheel.now() + static_cast<std::uint64_t>(after[i].count()));
    }
    for (timer_node& each : all) wheel.remove(each);
  });
}

long fired = 0;
std::vector<timer> idle_timers() {
  std::vector<timer> all;
  all.reserve(million);
  for (std::size_t i = 0; i != million; ++i) all.emplace_back([](timer&) noexcept { ++fired; });
  return all;
}
void create_and_cancel(benchmark::State& state, timer_service& timers) {
  const auto after = random_delays(minute);
  std::vector<timer> all = idle_timers();
  measure(state, million, [&](long) {
    const auto now = timers.now() + minute;
    for (std::size_t i = 0; i != million; ++i) {
      all[i].progress = timer::state::idle;
      timers.add(all[i], now + after[i]);
    }
    for (timer& each : all) timers.remove(each);
  });
}
void timer_create_cancel(benchmark::State& state) {
  virtual_time_loop loop;
  create_and_cancel(state, *loop.timers());
}
void timer_create_cancel_io_service(benchmark::State& state) {
  coracle::io_service io;
  create_and_cancel(state, *io.timers());
}
void timer_create_cancel_program(benchmark::State& state) {
  create_and_cancel(state, coracle::detail::program_timers());
}

// ---- fire: sets a million timers for the next second, and time passes in steps of 50 us ----------------

void floor_timer_fire(benchmark::State& state) {
  const auto after = random_delays(second);
  std::vector<timer_node> all(million);
  timer_wheel wheel{1};
  measure(state, million, [&](long) {
    const std::uint64_t begin = wheel.now();
    for (std::size_t i = 0; i != million; ++i) {
      wheel.insert(all[i], begin + static_cast<std::uint64_t>(after[i].count()));
    }
    for (std::uint64_t now = begin; !wheel.empty(); now += 50'000) {
      while (wheel.pop_due(now)) ++fired;
    }
  });
}
void timer_fire(benchmark::State& state) {
  const auto after = random_delays(second);
  std::vector<timer> all = idle_timers();
  virtual_time_loop loop;
  measure(state, million, [&](long) {
    const auto begin = loop.now();
    for (std::size_t i = 0; i != million; ++i) {
      all[i].progress = timer::state::idle;
      loop.timers()->add(all[i], begin + after[i]);
    }
    loop.advance(second);
  });
}

task<> sleep_repeatedly(nanoseconds delay, long times) {
  for (long i = 0; i != times; ++i) co_await coracle::sleep_for(delay);
}
/// The cost of a sleep of one of a million coroutines: set, fire, post, resume.
void sleep_of_a_million(benchmark::State& state) {
  const auto after = random_delays(second);
  virtual_time_loop loop;
  constexpr long times = 4;
  measure(state, times * static_cast<long>(million), [&](long) {
    std::vector<task<>> all;
    all.reserve(million);
    for (const nanoseconds each : after) all.push_back(sleep_repeatedly(each, times));
    loop.run(coracle::when_all(std::move(all)));
  });
}
void sleep_of_one(benchmark::State& state) {
  virtual_time_loop loop;
  measure(state, million, [&](long n) { loop.run(sleep_repeatedly(std::chrono::milliseconds(1), n)); });
}

// ---- precision, in real time ---------------------------------------------------------------------------

/// The median lateness of a sleep of 1 ms.
task<nanoseconds> median_lateness(auto& place) {
  co_await place.schedule();
  std::vector<nanoseconds> late;
  for (int i = 0; i != 200; ++i) {
    const auto end = steady::now() + std::chrono::milliseconds(1);
    co_await coracle::sleep_until(end);
    late.push_back(steady::now() - end);
  }
  std::nth_element(late.begin(), late.begin() + 100, late.end());
  co_return late[100];
}
void lateness_of_1ms_on_pool(benchmark::State& state) {
  coracle::static_thread_pool pool{1};
  for (auto _ : state) {
    state.SetIterationTime(std::chrono::duration<double>(coracle::sync_wait(median_lateness(pool))).count());
  }
}
void lateness_of_1ms_on_io_service(benchmark::State& state) {
  coracle::io_service io;
  for (auto _ : state) {
    state.SetIterationTime(std::chrono::duration<double>(io.run(median_lateness(io))).count());
  }
}

// ---- memory --------------------------------------------------------------------------------------------

[[gnu::noinline]] task<> sleep_once(nanoseconds delay) { co_await coracle::sleep_for(delay); }
double bytes_of_a_sleeper() {
  virtual_time_loop loop;
  const long before = coracle_bench::resident_bytes();
  double bytes = 0;
  const auto weigh = [&]() -> task<> {
    bytes = static_cast<double>(coracle_bench::resident_bytes() - before) / million;
    co_return;
  };
  std::vector<task<>> all;
  all.reserve(million + 1);
  for (std::size_t i = 0; i != million; ++i) {
    all.push_back(sleep_once(std::chrono::microseconds(i + 1)));
  }
  all.push_back(weigh());
  loop.run(coracle::when_all(std::move(all)));
  return bytes;
}
/// The memory of a sleeping task, including its entry in the vector of when_all.
void bytes_per_sleeping_task(benchmark::State& state) {
  coracle_bench::show_bytes(state, bytes_of_a_sleeper);
}

CORACLE_BENCH_BYTES(bytes_per_sleeping_task);
CORACLE_BENCH(floor_timer_create_cancel);
CORACLE_BENCH(timer_create_cancel);
CORACLE_BENCH(timer_create_cancel_io_service);
CORACLE_BENCH(timer_create_cancel_program);
CORACLE_BENCH(floor_timer_fire);
CORACLE_BENCH(timer_fire);
CORACLE_BENCH(sleep_of_a_million);
CORACLE_BENCH(sleep_of_one);
BENCHMARK(lateness_of_1ms_on_pool)->UseManualTime()->Iterations(1);
BENCHMARK(lateness_of_1ms_on_io_service)->UseManualTime()->Iterations(1);
}  // namespace
