// tests/stack/mixed/second.cpp -- awaits what first.cpp defines, and is awaited by it.
// SPDX-License-Identifier: MIT
#include "chain.hpp"

coracle::task<int> second_middle(int n) {
  int sum = 0;
  add_at_once(sum, first_leaf(n));
  sum += co_await relay(first_leaf(0));
  co_return sum;
}
coracle::task<int> second_depth(int levels) {
  int below = 0;
  if (levels != 0) below = co_await relay(first_depth(levels - 1));
  co_return below + 1;
}
