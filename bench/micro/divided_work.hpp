// bench/micro/divided_work.hpp -- the work of fork_join_bench.cpp and its rivals, and its numbers of tasks.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>

namespace coracle_bench {
constexpr int fib_of = 27;
/// The number of calls in fib(n), including itself.
constexpr long fib_calls(int n) { return n < 2 ? 1 : 1 + fib_calls(n - 1) + fib_calls(n - 2); }

/// Each task has ten children, down to the leaves.
constexpr long skynet_leaves = 1'000'000, skynet_tasks = 1'111'111;

/// The number of ways to place the given number of queens on a board, with a task for each partial placement.
constexpr std::size_t queens = 10;
using board = std::array<char, queens>;
inline bool fits(const board& rows, std::size_t row, std::size_t column) {
  for (std::size_t i = 0; i != row; ++i) {
    const auto other = static_cast<std::size_t>(rows[i]);
    const std::size_t apart = other < column ? column - other : other - column;
    if (apart == 0 || apart == row - i) return false;
  }
  return true;
}
inline long place(board rows, std::size_t row, long& calls) {
  ++calls;
  if (row == queens) return 1;
  long ways = 0;
  for (std::size_t column = 0; column != queens; ++column) {
    if (!fits(rows, row, column)) continue;
    rows[row] = static_cast<char>(column);
    ways += place(rows, row + 1, calls);
  }
  return ways;
}
inline long queens_tasks() {
  long calls = 0;
  place({}, 0, calls);
  return calls;
}

/// Children that complete immediately.
constexpr long flat_children = 1000;
}  // namespace coracle_bench
