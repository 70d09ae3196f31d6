// tests/unit/intrusive_queue_test.cpp -- a FIFO queue of externally owned nodes.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/base/intrusive_queue.hpp>
#include <vector>

namespace {
struct node {
  int name;
  node* next = nullptr;
};
using queue = coracle::detail::intrusive_queue<node>;

/// Removes all nodes, oldest first.
std::vector<int> names(queue& all) {
  std::vector<int> found;
  while (!all.empty()) found.push_back(all.pop().name);
  return found;
}

TEST_CASE("intrusive_queue: is empty at first, and gives what was pushed, oldest first") {
  queue all;
  CHECK(all.empty());
  CHECK(all.front() == nullptr);
  CHECK(all.take_all() == nullptr);
  node one{1}, two{2}, three{3};
  for (node* each : {&one, &two, &three}) all.push(*each);
  CHECK(all.front() == &one);
  CHECK(names(all) == std::vector{1, 2, 3});
  for (node* each : {&three, &one}) all.push(*each);
  CHECK(all.take_all() == &three);
  CHECK(three.next == &one);
  CHECK(one.next == nullptr);
  CHECK(all.empty());
}

TEST_CASE("intrusive_queue: any node can be removed, and one that is not in it changes nothing") {
  node nodes[] = {{0}, {1}, {2}};
  const auto without = [&](const node& removed, bool found) {
    queue all;
    for (node& each : nodes) all.push(each);
    CHECK(all.remove(removed) == found);
    node late{3};
    all.push(late);
    return names(all);
  };
  CHECK(without(nodes[0], true) == std::vector{1, 2, 3});
  CHECK(without(nodes[1], true) == std::vector{0, 2, 3});
  CHECK(without(nodes[2], true) == std::vector{0, 1, 3});
  CHECK(without(node{1}, false) == std::vector{0, 1, 2, 3});
  queue all;
  CHECK_FALSE(all.remove(nodes[0]));
  all.push(nodes[0]);
  CHECK(all.remove(nodes[0]));
  CHECK(all.empty());
}
}  // namespace
