// tour/recursion.cpp -- generators that use generators: what an element costs at which depth.
// SPDX-License-Identifier: MIT
#include "recursion.hpp"

#include <algorithm>
#include <coracle/generators/generator.hpp>
#include <numeric>
#include <random>

#include "clock.hpp"
#include "stack.hpp"

namespace tour {
namespace {
using coracle::elements_of;
using coracle::generator;

/// Says when it is gone.
class witness {
 public:
  explicit witness(bool& gone) : gone_(gone) {}
  witness(const witness&) = delete;
  witness& operator=(const witness&) = delete;
  ~witness() { gone_ = true; }

 private:
  bool& gone_;
};

generator<std::uint64_t> squares(std::uint64_t& resumed, bool& destroyed) {
  const witness local(destroyed);
  for (std::uint64_t i = 1;; ++i) {
    ++resumed;
    co_yield i* i;
  }
}

// ---- a chain -------------------------------------------------------------------------------------------

generator<int> source(int count, std::uintptr_t& position) {
  for (int i = 0; i != count; ++i) {
    position = frame_position();
    co_yield int{i};
  }
}
generator<int> passed_on(int depth, int count, std::uintptr_t& position) {
  if (depth == 1) {
    co_yield elements_of(source(count, position));
  } else {
    co_yield elements_of(passed_on(depth - 1, count, position));
  }
}
generator<int> looped(int depth, int count, std::uintptr_t& position) {
  if (depth == 1) {
    for (const int value : source(count, position)) co_yield int{value};
  } else {
    for (const int value : looped(depth - 1, count, position)) co_yield int{value};
  }
}

// Few elements where each one is expensive.
int elements_at(int depth) { return std::max(2000, 1'000'000 / depth); }

template <class Chain>
depth_cost measure(Chain chain, int depth) {
  const int count = elements_at(depth);
  std::uintptr_t position = 0;
  auto elements = chain(depth, count, position);
  auto it = elements.begin();
  const stopwatch watch;
  int taken = 1;
  for (++it; it != elements.end(); ++it) ++taken;
  return {watch.nanoseconds() / taken, frame_position() - position};
}

// ---- a tree --------------------------------------------------------------------------------------------

class search_tree {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct node {
    std::uint32_t value, left = none, right = none;
  };

  explicit search_tree(std::uint64_t count) {
    std::vector<std::uint32_t> values(count);
    std::iota(values.begin(), values.end(), 0U);
    std::shuffle(values.begin(), values.end(), std::mt19937(1));
    nodes_.reserve(count);
    for (const std::uint32_t value : values) insert(value);
  }
  [[nodiscard]] const node& at(std::uint32_t place) const { return nodes_[place]; }
  [[nodiscard]] std::uint64_t depth() const { return depth_; }

 private:
  void insert(std::uint32_t value) {
    std::uint32_t place = 0;
    std::uint64_t level = 1;
    const auto added = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({value});
    while (added != 0) {
      std::uint32_t& next = value < nodes_[place].value ? nodes_[place].left : nodes_[place].right;
      ++level;
      if (next == none) {
        next = added;
        break;
      }
      place = next;
    }
    depth_ = std::max(depth_, level);
  }

  std::vector<node> nodes_;
  std::uint64_t depth_ = 0;
};

generator<const std::uint32_t&> walk_in_order(const search_tree& tree, std::uint32_t place) {
  const search_tree::node& here = tree.at(place);
  if (here.left != search_tree::none) co_yield elements_of(walk_in_order(tree, here.left));
  co_yield here.value;
  if (here.right != search_tree::none) co_yield elements_of(walk_in_order(tree, here.right));
}
generator<const std::uint32_t&> walk_in_loops(const search_tree& tree, std::uint32_t place) {
  const search_tree::node& here = tree.at(place);
  if (here.left != search_tree::none) {
    for (const std::uint32_t& value : walk_in_loops(tree, here.left)) co_yield value;
  }
  co_yield here.value;
  if (here.right != search_tree::none) {
    for (const std::uint32_t& value : walk_in_loops(tree, here.right)) co_yield value;
  }
}

template <class Walk>
double nanoseconds_a_node(Walk walk_of, const search_tree& tree, std::uint64_t count, bool& in_order) {
  const stopwatch watch;
  std::uint64_t expected = 0;
  for (const std::uint32_t& value : walk_of(tree, 0)) in_order &= value == expected++;
  in_order &= expected == count;
  return watch.nanoseconds() / static_cast<double>(count);
}
}  // namespace

squares_taken take_squares(std::size_t count) {
  squares_taken taken;
  for (const std::uint64_t square : squares(taken.resumed, taken.destroyed)) {
    taken.values.push_back(square);
    if (taken.values.size() == count) break;
  }
  return taken;
}

depth_cost chain_with_elements_of(int depth) { return measure(passed_on, depth); }
depth_cost chain_with_loops(int depth) { return measure(looped, depth); }

tree_walk walk_trees(std::uint64_t nodes) {
  const search_tree tree(nodes);
  tree_walk result;
  result.nodes = nodes;
  result.depth = tree.depth();
  result.in_order = true;
  result.elements_of = nanoseconds_a_node(walk_in_order, tree, nodes, result.in_order);
  result.loops = nanoseconds_a_node(walk_in_loops, tree, nodes, result.in_order);
  return result;
}
}  // namespace tour
