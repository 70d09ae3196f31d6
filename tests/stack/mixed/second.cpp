// tests/stack/mixed/second.cpp -- awaits what first.cpp defines, and is awaited by it.
// SPDX-License-Identifier: MIT
#include "chain.hpp"

coracle::task<int> second_middle(int n) {
  int sum = 0;
  add_at_once(sum, first_leaf(n));
  coracle::task<int> child = relay(first_leaf(0));
  sum += co_await out_of_line(child);
  co_return sum;
}
coracle::task<int> second_depth(int levels) {
  if (levels == 0) co_return 1;
  coracle::task<int> child = relay(first_depth(levels - 1));
  co_return 1 + co_await out_of_line(child);
}
