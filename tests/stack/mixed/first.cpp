// tests/stack/mixed/first.cpp -- awaits what second.cpp defines, which awaits what is defined here.
// SPDX-License-Identifier: MIT
#include <coracle/core/sync_wait.hpp>
#include <cstdio>

#include "../../support/run_on_stack.hpp"
#include "chain.hpp"

coracle::task<int> first_leaf(int n) { co_return n & 1; }
coracle::task<int> first_depth(int levels) {
  if (levels == 0) co_return 1;
  coracle::task<int> child = relay(second_depth(levels - 1));
  co_return 1 + co_await out_of_line(child);
}

namespace {
// 16 bytes left on the stack by each would need six times the stack.
constexpr int rounds = 100'000, levels = 100'000;

coracle::task<int> loop() {
  int sum = 0;
  for (int i = 0; i != rounds; ++i) {
    coracle::task<int> child = relay(second_middle(i));
    sum += co_await out_of_line(child);
  }
  co_return sum;
}
coracle::task<int> loop_eagerly() {
  int sum = 0;
  for (int i = 0; i != rounds; ++i) {
    add_at_once(sum, second_middle(i));
    sum += co_await first_leaf(i);
  }
  co_return sum;
}
bool expect(const char* what, int found, int wanted) {
  if (found == wanted) return true;
  std::printf("%s: %d instead of %d\n", what, found, wanted);
  return false;
}
}  // namespace

int main() {
  bool passed = false;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&passed] {
    const bool looped = expect("loop", coracle::sync_wait(loop()), rounds / 2);
    const bool nested = expect("depth", coracle::sync_wait(first_depth(levels)), levels + 1);
    const bool eager = expect("eager", coracle::sync_wait(loop_eagerly()), rounds);
    passed = looped && nested && eager;
  });
  return ran && passed ? 0 : 1;
}
