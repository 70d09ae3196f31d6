// tests/unit/intrusive_list_test.cpp -- a queue from which any node can be removed.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/base/intrusive_list.hpp>
#include <vector>

namespace {
struct node_base {
  node_base* next = nullptr;
};
struct node : node_base {
  explicit node(int given) : name(given) {}
  node_base** link = nullptr;
  int name;
};
using list = coracle::detail::intrusive_list<node>;

/// Removes all nodes, oldest first.
std::vector<int> names(list& all) {
  std::vector<int> found;
  for (node_base* each = all.take_all(); each; each = each->next) {
    found.push_back(static_cast<node*>(each)->name);
  }
  return found;
}

TEST_CASE("intrusive_list: is empty at first, and gives what was pushed, oldest first") {
  list all;
  CHECK(all.empty());
  CHECK(all.front() == nullptr);
  CHECK(all.take_all() == nullptr);
  node one{1}, two{2}, three{3};
  for (node* each : {&one, &two, &three}) all.push(*each);
  CHECK_FALSE(all.empty());
  CHECK(all.front() == &one);
  CHECK(&all.pop() == &one);
  CHECK(all.front() == &two);
  CHECK(&all.pop() == &two);
  CHECK(&all.pop() == &three);
  CHECK(all.empty());
}

TEST_CASE("intrusive_list: the first, one in the middle, the last and the only one can be taken out") {
  node one{1}, two{2}, three{3};
  node* const nodes[] = {&one, &two, &three};
  const auto without = [&](int removed) {
    list all;
    for (node* each : nodes) all.push(*each);
    all.remove(*nodes[removed]);
    node late{4};
    all.push(late);
    return names(all);
  };
  CHECK(without(0) == std::vector{2, 3, 4});
  CHECK(without(1) == std::vector{1, 3, 4});
  CHECK(without(2) == std::vector{1, 2, 4});
  list all;
  all.push(one);
  all.remove(one);
  CHECK(all.empty());
  all.push(two);
  CHECK(names(all) == std::vector{2});
}

TEST_CASE("intrusive_list: takes any number out in any order") {
  list all;
  std::vector<node> nodes;
  for (int name = 0; name != 10; ++name) nodes.emplace_back(name);
  for (node& each : nodes) all.push(each);
  for (const std::size_t gone : {9u, 0u, 5u, 4u, 1u, 8u}) all.remove(nodes[gone]);
  CHECK(names(all) == std::vector{2, 3, 6, 7});
}

TEST_CASE("intrusive_list: is as new once all are taken or popped") {
  list all;
  node one{1}, two{2};
  all.push(one);
  CHECK(names(all) == std::vector{1});
  CHECK(all.empty());
  all.push(two);
  all.pop();
  all.push(one);
  all.push(two);
  CHECK(names(all) == std::vector{1, 2});
}
}  // namespace
