// bench/micro/async_generator_bench.cpp -- the cost of an element of an async_generator.
// SPDX-License-Identifier: MIT
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/generators/recursive_generator.hpp>
#include <coroutine>

#include "measure.hpp"

namespace {
using coracle::async_generator;
using coracle::task;
using coracle_bench::measure;

[[gnu::noinline]] async_generator<long> opaque_numbers(long n) {
  for (long i = 0; i < n; ++i) co_yield i;
}
task<> sum_by_next(long n) {
  auto numbers = opaque_numbers(n);
  long sum = 0;
  while (const long* i = co_await numbers.next()) coracle_bench::need(sum += *i);
}
void async_generator_next(benchmark::State& state) {
  measure(state, 10'000'000, [](long n) { coracle::sync_wait(sum_by_next(n)); });
}
task<> sum_by_iterator(long n) {
  auto numbers = opaque_numbers(n);
  long sum = 0;
  for (auto it = co_await numbers.begin(); it != numbers.end(); co_await ++it)
    coracle_bench::need(sum += *it);
}
void async_generator_iterator(benchmark::State& state) {
  measure(state, 10'000'000, [](long n) { coracle::sync_wait(sum_by_iterator(n)); });
}

/// The floor: two coroutines that only transfer to each other, to the producer and back.
struct partner {
  struct promise_type;
  using handle = std::coroutine_handle<promise_type>;
  struct to_other {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(handle self) const noexcept { return self.promise().other; }
    void await_resume() const noexcept {}
  };
  struct promise_type {
    partner get_return_object() noexcept { return {handle::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    to_other yield_value(const long* shown) noexcept {
      value = shown;
      return {};
    }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept {}

    std::coroutine_handle<> other;
    const long* value = nullptr;
  };
  handle body;
};
[[gnu::noinline]] partner producer(long n) {
  for (long i = 0; i < n; ++i) co_yield &i;
  co_yield nullptr;
}
[[gnu::noinline]] partner consumer(partner::handle from) {
  long sum = 0;
  for (;;) {
    co_await partner::to_other{};
    const long* const i = from.promise().value;
    if (!i) co_return;
    coracle_bench::need(sum += *i);
  }
}
void two_transfers(benchmark::State& state) {
  measure(state, 10'000'000, [](long n) {
    const partner produces = producer(n), consumes = consumer(produces.body);
    produces.body.promise().other = consumes.body;
    consumes.body.promise().other = produces.body;
    consumes.body.resume();
    consumes.body.destroy();
    produces.body.destroy();
  });
}
void floor_async_generator_next(benchmark::State& state) { two_transfers(state); }
void floor_async_generator_iterator(benchmark::State& state) { two_transfers(state); }

/// One operation: make the generator, await ten elements and the end, destroy it.
task<> take_ten(long n) {
  for (long i = 0; i < n; ++i) {
    auto numbers = opaque_numbers(10);
    long sum = 0;
    while (const long* each = co_await numbers.next()) coracle_bench::need(sum += *each);
  }
}
void async_generator_of_10(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) { coracle::sync_wait(take_ten(n)); });
}

task<> sum_mapped(long n) {
  auto twice = [](long i) { return 2 * i; };
  auto numbers = coracle::fmap(opaque_numbers(n), twice);
  long sum = 0;
  while (const long* i = co_await numbers.next()) coracle_bench::need(sum += *i);
}
void async_generator_fmap(benchmark::State& state) {
  measure(state, 10'000'000, [](long n) { coracle::sync_wait(sum_mapped(n)); });
}

constexpr int depth = 20;
constexpr long nodes = (2L << depth) - 1;

// In order; each inner node creates its two children.
coracle::recursive_generator<long> tree(int below, long& next) {
  if (below > 0) co_yield tree(below - 1, next);
  co_yield next++;
  if (below > 0) co_yield tree(below - 1, next);
}
void recursive_generator_tree_of_depth_20(benchmark::State& state) {
  coracle_bench::measure_each(state, 1, nodes, [](long) {
    long next = 0, sum = 0;
    for (const long i : tree(depth, next)) sum += i;
    benchmark::DoNotOptimize(sum);
  });
}

CORACLE_BENCH(async_generator_next);
CORACLE_BENCH(floor_async_generator_next);
CORACLE_BENCH(async_generator_iterator);
CORACLE_BENCH(floor_async_generator_iterator);
CORACLE_BENCH(async_generator_of_10);
CORACLE_BENCH(async_generator_fmap);
CORACLE_BENCH(recursive_generator_tree_of_depth_20);
}  // namespace
