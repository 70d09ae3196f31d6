// bench/micro/scope_bench.cpp -- children of an async_scope, and turns in a round_robin_scheduler.
// SPDX-License-Identifier: MIT
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/round_robin_scheduler.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>

#include "measure.hpp"

namespace {
using coracle::async_scope;
using coracle::task;
using coracle_bench::measure;

[[gnu::noinline]] task<> count(long& counter) {
  ++counter;
  co_return;
}
[[gnu::noinline]] task<> wait_and_count(coracle::async_manual_reset_event& event, long& counter) {
  co_await event;
  ++counter;
}

task<> spawn_many(long n, long& counter) {
  async_scope scope;
  for (long i = 0; i < n; ++i) scope.spawn(count(counter));
  co_await scope.join();
}
void scope_spawn_and_end(benchmark::State& state) {
  long counter = 0;
  measure(state, 1'000'000, [&](long n) { coracle::sync_wait(spawn_many(n, counter)); });
  coracle_bench::need(counter);
}

/// Spawns without a scope: a frame that awaits the child and frees itself, and that nothing joins.
struct untracked {
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::returns<void, coracle::part::terminates_on_error>,
                        coracle::part::frees_itself,
                        coracle::part::awaits_anything,
                        coracle::recycled_frames {
    untracked get_return_object() const noexcept { return {}; }
  };
};
[[gnu::noinline]] untracked start(task<> child) { co_await std::move(child); }
void floor_scope_spawn_and_end(benchmark::State& state) {
  long counter = 0;
  measure(state, 1'000'000, [&](long n) {
    for (long i = 0; i < n; ++i) start(count(counter));
  });
  coracle_bench::need(counter);
}

task<> spawn_waiting(long n, long& counter) {
  coracle::async_manual_reset_event event;
  async_scope scope;
  for (long i = 0; i < n; ++i) scope.spawn(wait_and_count(event, counter));
  event.set();
  co_await scope.join();
}
void scope_spawn_waiting(benchmark::State& state) {
  long counter = 0;
  coracle_bench::measure_each(state, 1'000, 1'000, [&](long batches) {
    for (long i = 0; i < batches; ++i) coracle::sync_wait(spawn_waiting(1'000, counter));
  });
  coracle_bench::need(counter);
}
void floor_scope_spawn_waiting(benchmark::State& state) {
  long counter = 0;
  coracle_bench::measure_each(state, 1'000, 1'000, [&](long batches) {
    for (long i = 0; i < batches; ++i) {
      coracle::async_manual_reset_event event;
      for (long k = 0; k < 1'000; ++k) start(wait_and_count(event, counter));
      event.set();
    }
  });
  coracle_bench::need(counter);
}

constexpr long ring_size = 8;
untracked take_turns(coracle::round_robin_scheduler<ring_size>& ring, long n, long& turns) {
  for (long i = 0; i < n; ++i) {
    co_await ring.schedule();
    ++turns;
  }
}
void round_robin_turn(benchmark::State& state) {
  coracle::round_robin_scheduler<ring_size> ring;
  long turns = 0;
  measure(state, 8'000'000, [&](long n) {
    for (long i = 0; i < ring_size; ++i) take_turns(ring, n / ring_size, turns);
    ring.drain();
  });
  coracle_bench::need(turns);
}
/// The floor: a plain loop that resumes the handles of a ring that is always full.
struct parked {
  explicit parked(std::coroutine_handle<>& place) noexcept : place_(place) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const noexcept { place_ = h; }
  void await_resume() const noexcept {}
  std::coroutine_handle<>& place_;
};
untracked be_resumed(std::coroutine_handle<>& place, long n, long& turns) {
  for (long i = 0; i < n; ++i) {
    co_await parked(place);
    ++turns;
  }
}
void floor_round_robin_turn(benchmark::State& state) {
  long turns = 0;
  measure(state, 8'000'000, [&](long n) {
    std::coroutine_handle<> ring[ring_size];
    for (auto& each : ring) be_resumed(each, n / ring_size, turns);
    for (long i = 0; i < n; ++i) ring[i % ring_size].resume();
  });
  coracle_bench::need(turns);
}

CORACLE_BENCH(scope_spawn_and_end);
CORACLE_BENCH(floor_scope_spawn_and_end);
CORACLE_BENCH(scope_spawn_waiting);
CORACLE_BENCH(floor_scope_spawn_waiting);
CORACLE_BENCH(round_robin_turn);
CORACLE_BENCH(floor_round_robin_turn);
}  // namespace
