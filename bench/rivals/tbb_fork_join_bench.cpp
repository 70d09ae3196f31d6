// bench/rivals/tbb_fork_join_bench.cpp -- the work of micro/fork_join_bench.cpp with oneTBB's task_group.
// SPDX-License-Identifier: MIT
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/version.h>

#include <array>
#include <numeric>

#include "../micro/divided_work.hpp"
#include "../micro/measure.hpp"

namespace {
using namespace coracle_bench;

[[maybe_unused]] const bool said = (benchmark::AddCustomContext("tbb", TBB_VERSION_STRING), true);

/// Repeats work of `n` operations in an arena of the given number of threads, including the calling one.
template <class Work>
void in_arena(benchmark::State& state, int threads, long n, Work work) {
  tbb::task_arena arena{threads};
  const tbb::global_control limit{tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads)};
  measure_each(state, 1 + 100'000 / n, n, [&](long times) {
    arena.execute([&] {
      for (; times != 0; --times) need(work());
    });
  });
}

// ---- fib: a call is one operation ----------------------------------------------------------------------

long fib(int n) {
  if (n < 2) return n;
  long left = 0;
  tbb::task_group children;
  children.run([&left, n] { left = fib(n - 1); });
  const long right = fib(n - 2);
  children.wait();
  return left + right;
}
void tbb_fork_fib(benchmark::State& state) {
  in_arena(state, 1, fib_calls(fib_of), [] { return fib(fib_of); });
}
void tbb_fork_fib_two_threads(benchmark::State& state) {
  in_arena(state, 2, fib_calls(fib_of), [] { return fib(fib_of); });
}

// ---- skynet: each task has ten children, a million leaves; a task is one operation ----------------------

long skynet(long first, long leaves) {
  if (leaves == 1) return first;
  std::array<long, 10> sums{};
  tbb::task_group children;
  for (long i = 0; i != 10; ++i) {
    long& sum = sums[static_cast<std::size_t>(i)];
    children.run([&sum, first, leaves, i] { sum = skynet(first + i * (leaves / 10), leaves / 10); });
  }
  children.wait();
  return std::accumulate(sums.begin(), sums.end(), 0L);
}
void tbb_fork_skynet(benchmark::State& state) {
  in_arena(state, 1, skynet_tasks, [] { return skynet(0, skynet_leaves); });
}
void tbb_fork_skynet_two_threads(benchmark::State& state) {
  in_arena(state, 2, skynet_tasks, [] { return skynet(0, skynet_leaves); });
}

// ---- queens: ways to place 10 on a board, a task for each partial placement; a task is one operation ----

long place_together(const board& rows, std::size_t row) {
  if (row == queens) return 1;
  std::array<long, queens> ways{};
  tbb::task_group children;
  for (std::size_t column = 0; column != queens; ++column) {
    if (!fits(rows, row, column)) continue;
    board next = rows;
    next[row] = static_cast<char>(column);
    children.run([&found = ways[column], next, row] { found = place_together(next, row + 1); });
  }
  children.wait();
  return std::accumulate(ways.begin(), ways.end(), 0L);
}
void tbb_fork_queens(benchmark::State& state) {
  in_arena(state, 1, queens_tasks(), [] { return place_together({}, 0); });
}
void tbb_fork_queens_two_threads(benchmark::State& state) {
  in_arena(state, 2, queens_tasks(), [] { return place_together({}, 0); });
}

// ---- flat: a thousand children that complete immediately; a child is one operation ----------------------

[[gnu::noinline]] void leaf(long value, long& result) { result = value; }
long flat_forks() {
  long sum = 0;
  for (long i = 0; i != flat_children; ++i) {
    long result = 0;
    tbb::task_group child;
    child.run([&result, i] { leaf(i, result); });
    child.wait();
    sum += result;
  }
  return sum;
}
long flat_when_all() {
  std::array<long, flat_children> results{};
  tbb::task_group children;
  for (long i = 0; i != flat_children; ++i) {
    children.run([&result = results[static_cast<std::size_t>(i)], i] { leaf(i, result); });
  }
  children.wait();
  return std::accumulate(results.begin(), results.end(), 0L);
}
void tbb_fork_flat(benchmark::State& state) { in_arena(state, 1, flat_children, flat_forks); }
void tbb_fork_flat_two_threads(benchmark::State& state) { in_arena(state, 2, flat_children, flat_forks); }
void tbb_fork_flat_when_all(benchmark::State& state) { in_arena(state, 1, flat_children, flat_when_all); }
void tbb_fork_flat_when_all_two_threads(benchmark::State& state) {
  in_arena(state, 2, flat_children, flat_when_all);
}

CORACLE_BENCH(tbb_fork_fib);
CORACLE_BENCH(tbb_fork_fib_two_threads);
CORACLE_BENCH(tbb_fork_skynet);
CORACLE_BENCH(tbb_fork_skynet_two_threads);
CORACLE_BENCH(tbb_fork_queens);
CORACLE_BENCH(tbb_fork_queens_two_threads);
CORACLE_BENCH(tbb_fork_flat);
CORACLE_BENCH(tbb_fork_flat_two_threads);
CORACLE_BENCH(tbb_fork_flat_when_all);
CORACLE_BENCH(tbb_fork_flat_when_all_two_threads);
}  // namespace
