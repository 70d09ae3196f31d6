// bench/scenario/trees.hpp -- the sizes of the trees; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once

namespace coracle_bench {
constexpr long tree_leaves = 1 << 20;
constexpr long strand_tree_leaves = 1 << 18;
constexpr long spawned_children = 1'000'000;
constexpr int scheduled_fib_of = 27;
constexpr long scheduled_fib = 196'418;
constexpr long scheduled_skynet_leaves = 1'000'000;
constexpr int tree_threads = 2;

/// The sum of `0 .. n - 1`, the numbers of the leaves.
constexpr long sum_below(long n) { return n * (n - 1) / 2; }
}  // namespace coracle_bench
