// bench/micro/combinators_bench.cpp -- callbacks, shared executions, concurrency limits, rate limits.
// SPDX-License-Identifier: MIT
#include <coracle/compose/as_completed.hpp>
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/compose/from_callback.hpp>
#include <coracle/compose/single_flight.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/time/rate_limiter.hpp>
#include <utility>
#include <vector>

#include "measure.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::task;
using coracle_bench::measure;

/// A callback that is called immediately: the cost of awaiting it, compared to the call.
void from_callback_ready(benchmark::State& state) {
  const auto work = [](long n) -> task<> {
    for (long i = 0; i < n; ++i) {
      const auto call = [i](auto done) { done(i); };
      coracle_bench::need(co_await coracle::from_callback<long>(call));
    }
  };
  measure(state, 1'000'000, [&](long n) { coracle::sync_wait(work(n)); });
}
void floor_from_callback_ready(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    for (long i = 0; i < n; ++i) {
      const auto done = [](long value) { coracle_bench::need(value); };
      done(i);
    }
  });
}

/// A callback that is called later, from a loop, with and without a stop token that could cancel it.
struct one_call {
  void* waiting = nullptr;
};
void suspend_and_complete(benchmark::State& state, bool stoppable) {
  one_call api;
  bool over = false;
  const auto work = [&](long n) -> task<> {
    for (long i = 0; i < n; ++i) {
      const auto call = [&](auto done) { api.waiting = done.release(); };
      co_await coracle::from_callback(call, [] {});
    }
    over = true;
  };
  struct detached {
    struct promise_type : coracle::part::starts_eagerly,
                          coracle::part::returns<void, coracle::part::terminates_on_error>,
                          coracle::part::frees_itself,
                          coracle::part::awaits_anything {
      detached get_return_object() const noexcept { return {}; }
    };
  };
  coracle::stop_source source;
  const auto run = [&](long n) -> detached {
    if (stoppable) {
      co_await coracle::with_stop(work(n), source.get_token());
    } else {
      co_await work(n);
    }
  };
  measure(state, 1'000'000, [&](long n) {
    over = false;
    run(n);
    while (!over) coracle::completion<>::from(std::exchange(api.waiting, nullptr))();
  });
}
void from_callback_suspends(benchmark::State& state) { suspend_and_complete(state, false); }
void from_callback_stoppable(benchmark::State& state) { suspend_and_complete(state, true); }

void single_flight_alone(benchmark::State& state) {
  coracle::single_flight<long, long> flights;
  const auto work = [&](long n) -> task<> {
    for (long i = 0; i < n; ++i) {
      const auto give = [i]() -> task<long> { co_return i; };
      coracle_bench::need(co_await flights.run(i, give));
    }
  };
  measure(state, 200'000, [&](long n) { coracle::sync_wait(work(n)); });
}

task<long> give(long value) { co_return value; }

/// An element: its child, of one frame, and one of 16 permits.
void for_each_concurrent_16(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    const std::vector<long> numbers(static_cast<std::size_t>(n), 1);
    coracle::sync_wait(coracle::for_each_concurrent(numbers, 16, give));
  });
}
void as_completed_of_many(benchmark::State& state) {
  measure(state, 100'000, [](long n) {
    std::vector<task<long>> tasks;
    tasks.reserve(static_cast<std::size_t>(n));
    for (long i = 0; i < n; ++i) tasks.push_back(give(i));
    coracle::sync_wait(
        coracle::as_completed(std::move(tasks), [](long value) { coracle_bench::need(value); }));
  });
}
/// The same children, awaited one after the other.
void one_after_another(benchmark::State& state) {
  const auto work = [](long n) -> task<> {
    for (long i = 0; i < n; ++i) {
      task<long> child = give(i);
      coracle_bench::need(co_await std::move(child));
    }
  };
  measure(state, 1'000'000, [&](long n) { coracle::sync_wait(work(n)); });
}
void floor_for_each_concurrent_16(benchmark::State& state) { one_after_another(state); }
void floor_as_completed_of_many(benchmark::State& state) { one_after_another(state); }

void rate_limiter_free(benchmark::State& state) {
  coracle::rate_limiter limiter{1'000'000'000, 1s, 1'000'000'000};
  const auto work = [&](long n) -> task<> {
    for (long i = 0; i < n; ++i) co_await limiter.acquire();
  };
  measure(state, 1'000'000, [&](long n) { coracle::sync_wait(work(n)); });
}
/// The floor: reads the clock.
void floor_rate_limiter_free(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    for (long i = 0; i < n; ++i) {
      coracle_bench::need(std::chrono::steady_clock::now().time_since_epoch().count());
    }
  });
}

CORACLE_BENCH(from_callback_ready);
CORACLE_BENCH(floor_from_callback_ready);
CORACLE_BENCH(from_callback_suspends);
CORACLE_BENCH(from_callback_stoppable);
CORACLE_BENCH(single_flight_alone);
CORACLE_BENCH(for_each_concurrent_16);
CORACLE_BENCH(floor_for_each_concurrent_16);
CORACLE_BENCH(as_completed_of_many);
CORACLE_BENCH(floor_as_completed_of_many);
CORACLE_BENCH(rate_limiter_free);
CORACLE_BENCH(floor_rate_limiter_free);
}  // namespace
