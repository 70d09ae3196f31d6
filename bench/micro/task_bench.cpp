// bench/micro/task_bench.cpp -- awaiting a child that completes immediately, or throws; and sync_wait.
// SPDX-License-Identifier: MIT
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <exception>

#include "floor_task.hpp"
#include "measure.hpp"

namespace {
using coracle::task;
using coracle_bench::measure;
using coracle_bench::measure_each;
using coracle_bench::need;

// The same programs for coracle::task and for the floor.
template <template <class> class Task>
struct programs {
  [[gnu::noinline]] static Task<int> opaque_leaf(int i) { co_return i; }
  static Task<int> inline_leaf(int i) { co_return i; }
  [[gnu::noinline]] static Task<void> void_leaf() { co_return; }

  [[gnu::noinline]] static Task<long> await_opaque(long n) {
    long sum = 0;
    for (long i = 0; i < n; ++i) sum += co_await opaque_leaf(static_cast<int>(i));
    co_return sum;
  }
  [[gnu::noinline]] static Task<long> await_inline(long n) {
    long sum = 0;
    for (long i = 0; i < n; ++i) sum += co_await inline_leaf(static_cast<int>(i));
    co_return sum;
  }
  [[gnu::noinline]] static Task<long> await_void(long n) {
    for (long i = 0; i < n; ++i) co_await void_leaf();
    co_return n;
  }
  [[gnu::noinline]] static Task<long> chain(int depth) {
    if (depth == 0) co_return 0;
    const long below = co_await chain(depth - 1);
    co_return below + 1;
  }
  [[gnu::noinline]] static Task<long> chains(long n, int depth) {
    long sum = 0;
    for (long i = 0; i < n; ++i) sum += co_await chain(depth);
    co_return sum;
  }
};
using ours = programs<coracle::task>;
using least = programs<floor_task::task>;

constexpr long awaits = 10'000'000;

void await_opaque(benchmark::State& state) {
  measure(state, awaits, [](long n) { benchmark::DoNotOptimize(coracle::sync_wait(ours::await_opaque(n))); });
}
void floor_await_opaque(benchmark::State& state) {
  measure(state, awaits, [](long n) { benchmark::DoNotOptimize(least::await_opaque(n).run()); });
}
void await_inline(benchmark::State& state) {
  measure(state, awaits, [](long n) { benchmark::DoNotOptimize(coracle::sync_wait(ours::await_inline(n))); });
}
void floor_await_inline(benchmark::State& state) {
  measure(state, awaits, [](long n) { benchmark::DoNotOptimize(least::await_inline(n).run()); });
}
void await_void(benchmark::State& state) {
  measure(state, awaits, [](long n) { benchmark::DoNotOptimize(coracle::sync_wait(ours::await_void(n))); });
}
void floor_await_void(benchmark::State& state) {
  measure(state, awaits, [](long n) { benchmark::DoNotOptimize(least::await_void(n).run()); });
}

void chain_1000(benchmark::State& state) {
  measure_each(state, 2000, 1000,
               [](long n) { benchmark::DoNotOptimize(coracle::sync_wait(ours::chains(n, 1000))); });
}
void floor_chain_1000(benchmark::State& state) {
  measure_each(state, 2000, 1000, [](long n) { benchmark::DoNotOptimize(least::chains(n, 1000).run()); });
}
void chain_10(benchmark::State& state) {
  measure_each(state, 200'000, 10,
               [](long n) { benchmark::DoNotOptimize(coracle::sync_wait(ours::chains(n, 10))); });
}
void floor_chain_10(benchmark::State& state) {
  measure_each(state, 200'000, 10, [](long n) { benchmark::DoNotOptimize(least::chains(n, 10).run()); });
}

void sync_wait_round_trip(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    long sum = 0;
    for (long i = 0; i < n; ++i) sum += coracle::sync_wait(ours::opaque_leaf(static_cast<int>(i)));
    benchmark::DoNotOptimize(sum);
  });
}
/// A bare resume: creates, resumes, reads and destroys the task, without the means to block.
void floor_sync_wait_round_trip(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    long sum = 0;
    for (long i = 0; i < n; ++i) sum += least::opaque_leaf(static_cast<int>(i)).run();
    benchmark::DoNotOptimize(sum);
  });
}

[[gnu::noinline]] long plain_function(long i) {
  coracle_bench::need(i);
  return i;
}
/// The cost of a call that is not inlined.
void floor_call(benchmark::State& state) {
  measure(state, awaits, [](long n) {
    long sum = 0;
    for (long i = 0; i < n; ++i) sum += plain_function(i);
    benchmark::DoNotOptimize(sum);
  });
}

// ---- an exception ----

constexpr int frames_to_leave = 20;
[[gnu::noinline]] task<long> throw_below(int depth) {
  if (depth == 0) throw depth;
  co_return 1 + co_await throw_below(depth - 1);
}
/// An exception that leaves 20 tasks, for each of them.
void exception_through_tasks(benchmark::State& state) {
  measure_each(state, 1'000, frames_to_leave, [](long n) {
    for (long i = 0; i != n; ++i) {
      try {
        need(coracle::sync_wait(throw_below(frames_to_leave - 1)));
      } catch (int) {
      }
    }
  });
}
/// Caught, kept and thrown again as often, in a function that does nothing else.
[[gnu::noinline]] void catch_again(std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (...) {
    error = std::current_exception();
  }
}
void floor_exception_through_tasks(benchmark::State& state) {
  measure_each(state, 1'000, frames_to_leave, [](long n) {
    for (long i = 0; i != n; ++i) {
      std::exception_ptr error;
      try {
        throw static_cast<int>(i);
      } catch (...) {
        error = std::current_exception();
      }
      for (int frame = 0; frame != frames_to_leave; ++frame) catch_again(error);
    }
  });
}

CORACLE_BENCH(await_opaque);
CORACLE_BENCH(floor_await_opaque);
CORACLE_BENCH(await_inline);
CORACLE_BENCH(floor_await_inline);
CORACLE_BENCH(await_void);
CORACLE_BENCH(floor_await_void);
CORACLE_BENCH(chain_1000);
CORACLE_BENCH(floor_chain_1000);
CORACLE_BENCH(chain_10);
CORACLE_BENCH(floor_chain_10);
CORACLE_BENCH(sync_wait_round_trip);
CORACLE_BENCH(floor_sync_wait_round_trip);
CORACLE_BENCH(floor_call);
CORACLE_BENCH(exception_through_tasks);
CORACLE_BENCH(floor_exception_through_tasks);
}  // namespace
