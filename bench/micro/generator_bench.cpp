// bench/micro/generator_bench.cpp -- the cost of an element of a generator.
// SPDX-License-Identifier: MIT
#include <coracle/generators/generator.hpp>

#include "measure.hpp"

namespace {
using coracle::generator;
using coracle_bench::measure;

[[gnu::noinline]] generator<long> opaque_numbers(long n) {
  for (long i = 0; i < n; ++i) co_yield i;
}
generator<long> inline_numbers(long n) {
  for (long i = 0; i < n; ++i) co_yield i;
}

/// The sum is made visible at every element, so that no compiler replaces the loop by a formula.
template <class Numbers>
void sum_visibly(Numbers&& numbers) {
  long sum = 0;
  for (long i : numbers) coracle_bench::need(sum += i);
}

void generator_opaque(benchmark::State& state) {
  measure(state, 10'000'000, [](long n) { sum_visibly(opaque_numbers(n)); });
}
void generator_inline(benchmark::State& state) {
  // Written out: clang dissolves the generator only where it sees its whole life in one function.
  measure(state, 10'000'000, [](long n) {
    long sum = 0;
    for (long i : inline_numbers(n)) coracle_bench::need(sum += i);
  });
}
void hand_loop(benchmark::State& state) {
  measure(state, 10'000'000, [](long n) {
    long sum = 0;
    for (long i = 0; i < n; ++i) coracle_bench::need(sum += i);
  });
}
void floor_generator_opaque(benchmark::State& state) { hand_loop(state); }
void floor_generator_inline(benchmark::State& state) { hand_loop(state); }

/// One operation: make the generator, take ten elements, destroy it.
void generator_of_10(benchmark::State& state) {
  measure(state, 1'000'000, [](long n) {
    for (long i = 0; i < n; ++i) sum_visibly(opaque_numbers(10));
  });
}

constexpr int depth = 20;
constexpr long nodes = (2L << depth) - 1;

// In order, and every node that is no leaf makes its two children.
generator<long> tree(int below, long& next) {
  if (below > 0) co_yield coracle::elements_of(tree(below - 1, next));
  co_yield next++;
  if (below > 0) co_yield coracle::elements_of(tree(below - 1, next));
}
void generator_tree_of_depth_20(benchmark::State& state) {
  coracle_bench::measure_each(state, 1, nodes, [](long) {
    long next = 0, sum = 0;
    for (long i : tree(depth, next)) sum += i;
    benchmark::DoNotOptimize(sum);
  });
}

[[gnu::noinline]] void visit(int below, long& next, long& sum) {
  if (below > 0) visit(below - 1, next, sum);
  sum += next++;
  if (below > 0) visit(below - 1, next, sum);
}
void floor_generator_tree_of_depth_20(benchmark::State& state) {
  coracle_bench::measure_each(state, 1, nodes, [](long) {
    long next = 0, sum = 0;
    visit(depth, next, sum);
    benchmark::DoNotOptimize(sum);
  });
}

CORACLE_BENCH(generator_opaque);
CORACLE_BENCH(floor_generator_opaque);
CORACLE_BENCH(generator_inline);
CORACLE_BENCH(floor_generator_inline);
CORACLE_BENCH(generator_of_10);
CORACLE_BENCH(generator_tree_of_depth_20);
CORACLE_BENCH(floor_generator_tree_of_depth_20);
}  // namespace
