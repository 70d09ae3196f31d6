// bench/micro/when_any_bench.cpp -- races of two branches, and two tasks that are awaited together.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>

#include "measure.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::task;
using coracle_bench::measure;

/// Runs `rounds(n)` with a stop token whose source never requests stop.
template <class Rounds>
void measure_stoppable(benchmark::State& state, Rounds rounds) {
  const coracle::stop_source source;
  measure(state, 1'000'000, [&](long n) {
    coracle_bench::need(coracle::sync_wait(coracle::with_stop(rounds(n), source.get_token())));
  });
}
[[gnu::noinline]] task<int> one() { co_return 1; }
[[gnu::noinline]] task<int> wait(async_manual_reset_event& event) {
  co_await event;
  co_return 1;
}

task<long> ready_and_waiting(long n) {
  async_manual_reset_event set{true}, not_set;
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    const auto first = co_await coracle::when_any(set, not_set);
    sum += static_cast<long>(first.index());
  }
  co_return sum;
}
void when_any_ready_first(benchmark::State& state) { measure_stoppable(state, ready_and_waiting); }

task<long> waiting_and_ready(long n) {
  async_manual_reset_event set{true}, not_set;
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    const auto first = co_await coracle::when_any(not_set, set);
    sum += static_cast<long>(first.index());
  }
  co_return sum;
}
void when_any_ready_second(benchmark::State& state) { measure_stoppable(state, waiting_and_ready); }

task<long> waiting_and_task(long n) {
  async_manual_reset_event not_set;
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    const auto first = co_await coracle::when_any(not_set, one());
    sum += static_cast<long>(first.index());
  }
  co_return sum;
}
/// The loser is queued and then withdrawn.
void when_any_loser_waits(benchmark::State& state) { measure_stoppable(state, waiting_and_task); }

task<long> task_that_ends(long n) {
  async_manual_reset_event not_set;
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    const auto first = co_await coracle::when_any(one(), wait(not_set));
    sum += static_cast<long>(first.index());
  }
  co_return sum;
}
void when_any_task_ends_first(benchmark::State& state) { measure_stoppable(state, task_that_ends); }

task<long> task_that_is_cancelled(long n) {
  async_manual_reset_event not_set;
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    const auto first = co_await coracle::when_any(wait(not_set), one());
    sum += static_cast<long>(first.index());
  }
  co_return sum;
}
/// The loser is a coroutine, which is destroyed where it waits.
void when_any_task_cancelled(benchmark::State& state) {
  const coracle::stop_source source;
  measure(state, 10'000, [&](long n) {
    coracle_bench::need(
        coracle::sync_wait(coracle::with_stop(task_that_is_cancelled(n), source.get_token())));
  });
}

/// The floor for a race of two: a stop source, and a wait that is queued and withdrawn.
void floor_when_any_loser_waits(benchmark::State& state) {
  coracle::stop_source outer;
  measure(state, 1'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      coracle::stop_source source;
      const auto token = source.get_token();
      const coracle::stop_callback relay{outer.get_token(), [&source]() noexcept { source.request_stop(); }};
      const coracle::stop_callback waits{token, []() noexcept {}};
      source.request_stop();
    }
  });
}

task<long> all_of_two(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    const auto [a, b] = co_await coracle::when_all(one(), one());
    sum += a + b;
  }
  co_return sum;
}
void when_all_of_two(benchmark::State& state) { measure_stoppable(state, all_of_two); }
task<long> all_of_two_ready(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    auto [a, b] = co_await coracle::when_all_ready(one(), one());
    sum += std::move(a).get() + std::move(b).get();
  }
  co_return sum;
}
void when_all_ready_of_two(benchmark::State& state) { measure_stoppable(state, all_of_two_ready); }

CORACLE_BENCH(when_any_ready_first);
CORACLE_BENCH(when_any_ready_second);
CORACLE_BENCH(when_any_loser_waits);
CORACLE_BENCH(floor_when_any_loser_waits);
CORACLE_BENCH(when_any_task_ends_first);
CORACLE_BENCH(when_any_task_cancelled);
CORACLE_BENCH(when_all_of_two);
CORACLE_BENCH(when_all_ready_of_two);
}  // namespace
