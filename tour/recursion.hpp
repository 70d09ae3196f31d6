// tour/recursion.hpp -- generators that use generators: what an element costs at which depth.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tour {
struct squares_taken {
  std::vector<std::uint64_t> values;
  std::uint64_t resumed = 0;  ///< how often the body computed one
  bool destroyed = false;     ///< its locals are gone, though it never came to its end
};
squares_taken take_squares(std::size_t count);

struct depth_cost {
  double nanoseconds = 0;  ///< of one element
  std::size_t stack = 0;   ///< between the loop that consumes and the generator that makes the element
};
depth_cost chain_with_elements_of(int depth);
depth_cost chain_with_loops(int depth);

struct tree_walk {
  std::uint64_t nodes = 0;
  std::uint64_t depth = 0;
  double elements_of = 0, loops = 0;  ///< nanoseconds of one node
  bool in_order = false;
};
tree_walk walk_trees(std::uint64_t nodes);
}  // namespace tour
