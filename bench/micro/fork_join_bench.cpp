// bench/micro/fork_join_bench.cpp -- divide-and-conquer work, on one thread and on two.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <vector>

#include "divided_work.hpp"
#include "measure.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;

/// Constructed and destroyed in each task of a tree.
template <class T>
using children_of = std::vector<task<T>, coracle::recycled_allocator<task<T>>>;

/// Repeats work of `n` operations on a pool, so often that moving there does not count.
template <class Work>
void on_pool(benchmark::State& state, std::size_t threads, long n, Work work) {
  static_thread_pool pool{threads};
  const auto run = [&pool, &work](long times) -> task<> {
    co_await pool.schedule();
    for (; times != 0; --times) need(co_await work());
  };
  measure_each(state, 1 + 100'000 / n, n, [&](long times) { coracle::sync_wait(run(times)); });
}

// ---- fib: a call is one operation ----------------------------------------------------------------------

[[gnu::noinline]] long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
task<long> fib_awaited(int n) {
  if (n < 2) co_return n;
  const long left = co_await fib_awaited(n - 1);
  co_return left + co_await fib_awaited(n - 2);
}
task<long> fib_fork_join(int n) {
  if (n < 2) co_return n;
  const auto both = co_await coracle::fork_join(fib_fork_join(n - 1), fib_fork_join(n - 2));
  co_return std::get<0>(both) + std::get<1>(both);
}
task<long> fib_when_all(int n) {
  if (n < 2) co_return n;
  const auto both = co_await coracle::when_all(fib_when_all(n - 1), fib_when_all(n - 2));
  co_return std::get<0>(both) + std::get<1>(both);
}
void floor_fork_fib(benchmark::State& state) {
  int n = fib_of;
  benchmark::DoNotOptimize(n);
  measure_each(state, 1, fib_calls(fib_of), [n](long times) {
    for (; times != 0; --times) need(fib(n));
  });
}
void fork_fib_awaits(benchmark::State& state) {
  on_pool(state, 1, fib_calls(fib_of), [] { return fib_awaited(fib_of); });
}
void fork_fib(benchmark::State& state) {
  on_pool(state, 1, fib_calls(fib_of), [] { return fib_fork_join(fib_of); });
}
void fork_fib_two_threads(benchmark::State& state) {
  on_pool(state, 2, fib_calls(fib_of), [] { return fib_fork_join(fib_of); });
}
void fork_fib_when_all(benchmark::State& state) {
  on_pool(state, 1, fib_calls(fib_of), [] { return fib_when_all(fib_of); });
}
void fork_fib_when_all_two_threads(benchmark::State& state) {
  on_pool(state, 2, fib_calls(fib_of), [] { return fib_when_all(fib_of); });
}

// ---- skynet: each task has ten children, a million leaves; a task is one operation ----------------------

task<long> skynet(long first, long leaves) {
  if (leaves == 1) co_return first;
  children_of<long> children;
  children.reserve(10);
  for (long i = 0; i != 10; ++i) children.push_back(skynet(first + i * (leaves / 10), leaves / 10));
  long sum = 0;
  for (const long each : co_await coracle::when_all(std::move(children))) sum += each;
  co_return sum;
}
void fork_skynet(benchmark::State& state) {
  on_pool(state, 1, skynet_tasks, [] { return skynet(0, skynet_leaves); });
}
void fork_skynet_two_threads(benchmark::State& state) {
  on_pool(state, 2, skynet_tasks, [] { return skynet(0, skynet_leaves); });
}

// ---- queens: the ways to put 10 on a board, a task for each row's way; a task is one operation ----------

void floor_fork_queens(benchmark::State& state) {
  measure_each(state, 1, queens_tasks(), [](long times) {
    for (long calls = 0; times != 0; --times) need(place({}, 0, calls));
  });
}
task<long> place_together(board rows, std::size_t row) {
  if (row == queens) co_return 1;
  children_of<long> children;
  children.reserve(queens);
  for (std::size_t column = 0; column != queens; ++column) {
    if (!fits(rows, row, column)) continue;
    rows[row] = static_cast<char>(column);
    children.push_back(place_together(rows, row + 1));
  }
  long ways = 0;
  for (const long each : co_await coracle::when_all(std::move(children))) ways += each;
  co_return ways;
}
void fork_queens(benchmark::State& state) {
  on_pool(state, 1, queens_tasks(), [] { return place_together({}, 0); });
}
void fork_queens_two_threads(benchmark::State& state) {
  on_pool(state, 2, queens_tasks(), [] { return place_together({}, 0); });
}

// ---- flat: a thousand children that end at once; a child is one operation -------------------------------

[[gnu::noinline]] task<long> leaf(long value) { co_return value; }
task<long> flat_when_all() {
  std::vector<task<long>> children;
  children.reserve(flat_children);
  for (long i = 0; i != flat_children; ++i) children.push_back(leaf(i));
  long sum = 0;
  for (const long each : co_await coracle::when_all(std::move(children))) sum += each;
  co_return sum;
}
task<long> flat_forks() {
  long sum = 0;
  for (long i = 0; i != flat_children; i += 2) {
    const auto both = co_await coracle::fork_join(leaf(i), leaf(i + 1));
    sum += std::get<0>(both) + std::get<1>(both);
  }
  co_return sum;
}
void fork_flat_when_all(benchmark::State& state) {
  on_pool(state, 1, flat_children, [] { return flat_when_all(); });
}
void fork_flat_when_all_two_threads(benchmark::State& state) {
  on_pool(state, 2, flat_children, [] { return flat_when_all(); });
}
void fork_flat(benchmark::State& state) {
  on_pool(state, 1, flat_children, [] { return flat_forks(); });
}
void fork_flat_two_threads(benchmark::State& state) {
  on_pool(state, 2, flat_children, [] { return flat_forks(); });
}

CORACLE_BENCH(floor_fork_fib);
CORACLE_BENCH(fork_fib_awaits);
CORACLE_BENCH(fork_fib);
CORACLE_BENCH(fork_fib_two_threads);
CORACLE_BENCH(fork_fib_when_all);
CORACLE_BENCH(fork_fib_when_all_two_threads);
CORACLE_BENCH(fork_skynet);
CORACLE_BENCH(fork_skynet_two_threads);
CORACLE_BENCH(floor_fork_queens);
CORACLE_BENCH(fork_queens);
CORACLE_BENCH(fork_queens_two_threads);
CORACLE_BENCH(fork_flat_when_all);
CORACLE_BENCH(fork_flat_when_all_two_threads);
CORACLE_BENCH(fork_flat);
CORACLE_BENCH(fork_flat_two_threads);
}  // namespace
