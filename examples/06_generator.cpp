// examples/06_generator.cpp -- a lazy sequence, and a recursive walk in O(1) per step.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <cstdio>
#include <memory>

coracle::generator<int> fibonacci() {
  int a = 0, b = 1;
  for (;;) {
    co_yield a;
    b += a;
    a = b - a;
  }
}

struct node {
  int value;
  std::unique_ptr<node> left, right;
};

coracle::generator<int> in_order(const node* tree) {
  if (!tree) co_return;
  co_yield coracle::elements_of(in_order(tree->left.get()));
  co_yield tree->value;
  co_yield coracle::elements_of(in_order(tree->right.get()));
}

int main() {
  for (int number : fibonacci()) {
    if (number > 50) break;
    std::printf("%d,", number);
  }
  std::puts("");

  auto leaf = [](int value) { return std::make_unique<node>(node{value, nullptr, nullptr}); };
  const node root{4, std::make_unique<node>(node{2, leaf(1), leaf(3)}), leaf(5)};
  for (int value : in_order(&root)) std::printf("%d,", value);
  std::puts("");
}

// Output:
//   0,1,1,2,3,5,8,13,21,34,
//   1,2,3,4,5,
