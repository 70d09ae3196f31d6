// tests/unit/generator_walks.hpp -- generators that a test iterates over, and the elements they yielded.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <coracle/generators/generator.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <memory>
#include <vector>

namespace coracle_test::generator_walks {
using ints = std::vector<int>;

template <class Range>
ints all(Range&& range) {
  ints seen;
  for (auto&& element : range) seen.push_back(static_cast<int>(element));
  return seen;
}
inline coracle::generator<int> counting(int from, int to) {
  for (int i = from; i != to; ++i) co_yield i;
}
/// Yields the numbers in order, each from a nested generator. Not inlined, so that the compiler does not
/// elide the frames that are counted.
CORACLE_NOINLINE()
inline coracle::generator<int> allocated_walk(std::allocator_arg_t,
                                              coracle::testing::failing_allocator<int> memory, int from,
                                              int to) {
  if (from == to) co_return;
  const int middle = (from + to) / 2;
  co_yield coracle::elements_of(allocated_walk(std::allocator_arg, memory, from, middle));
  co_yield middle;
  co_yield coracle::elements_of(allocated_walk(std::allocator_arg, memory, middle + 1, to));
}
}  // namespace coracle_test::generator_walks
