// tour/generators_station.cpp -- sequences on demand, recursion, and coroutines that stop early.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <optional>

#include "format.hpp"
#include "recursion.hpp"
#include "stations.hpp"
#include "stops_early.hpp"

namespace tour {
namespace {
std::string nanoseconds(double value) {
  return (value < 100 ? fixed(value, 1) : grouped(static_cast<std::uint64_t>(value))) + " ns";
}
std::string stack_of(const depth_cost& cost) { return byte_size(static_cast<double>(cost.stack)); }

void show_sequence(section& page) {
  const squares_taken taken = take_squares(10);
  std::string shown;
  for (const auto value : taken.values) shown += (shown.empty() ? "" : " ") + grouped(value);
  page.say("A generator runs its body only as far as its caller asks. From an endless one the loop took: " +
           shown + "; the body was resumed " + plural(taken.resumed, "time") +
           ", then destroyed where it stood.");
  page.check(taken.resumed == taken.values.size() && taken.destroyed,
             plural(taken.values.size(), "element") + " taken, " + grouped(taken.resumed) +
                 " computed, and the body's locals were destroyed.");
}

void show_depths(section& page) {
  page.say(
      "A generator that passes on the elements of another, of another and so on: with elements_of, or with a "
      "loop "
      "at each level. What costs one element, and how deep is the stack where it is made?");
  table costs{"", {"depth", "elements_of", "loops", "stack, elements_of", "stack, loops"}, {}};
  std::size_t lowest = SIZE_MAX, highest = 0;
  for (const int depth : {1, 10, 100, 1000}) {
    const depth_cost direct = chain_with_elements_of(depth), loops = chain_with_loops(depth);
    costs.rows.push_back({grouped(static_cast<std::uint64_t>(depth)), nanoseconds(direct.nanoseconds),
                          nanoseconds(loops.nanoseconds), stack_of(direct), stack_of(loops)});
    lowest = std::min(lowest, direct.stack);
    highest = std::max(highest, direct.stack);
    const std::string at = ".depth_" + std::to_string(depth);
    page.measured("elements_of" + at, direct.nanoseconds, "ns");
    page.measured("loops" + at, loops.nanoseconds, "ns");
    page.measured("elements_of.stack" + at, static_cast<double>(direct.stack), "bytes");
    page.measured("loops.stack" + at, static_cast<double>(loops.stack), "bytes");
  }
  page.add(std::move(costs));
  page.check(highest - lowest < 1024,
             "With elements_of the innermost generator is resumed directly: at a depth of "
             "1,000 the stack is " +
                 byte_size(static_cast<double>(highest - lowest)) + " deeper than at 1.");
}

void show_tree(section& page) {
  const tree_walk walk = walk_trees(100'000);
  page.say("The same with recursion that branches: a search tree of " + grouped(walk.nodes) +
           " shuffled numbers, " + plural(walk.depth, "level") + " deep, walked in order.");
  page.add(bar_chart{"Time of one node",
                     "ns",
                     {{"co_yield elements_of(walk(left))", walk.elements_of, nanoseconds(walk.elements_of)},
                      {"for (... : walk(left)) co_yield ...", walk.loops, nanoseconds(walk.loops)}}});
  page.measured("tree.elements_of", walk.elements_of, "ns");
  page.measured("tree.loops", walk.loops, "ns");
  page.check(walk.in_order, "Both walks gave all " + grouped(walk.nodes) + " numbers in order.");
}

void show_stop(section& page, const char* kind, const early_stop& seen) {
  table steps{kind, {"step", "what happened"}, {}};
  for (std::size_t i = 0; i != seen.events.size(); ++i) {
    steps.rows.push_back({std::to_string(i + 1), seen.events[i]});
  }
  page.add(std::move(steps));
  page.check(seen.as_promised, seen.summary);
}
}  // namespace

void show_generators(section& page, const settings&) {
  show_sequence(page);
  show_depths(page);
  show_tree(page);
  page.say(
      "A function that returns std::optional or coracle::expected may be a coroutine too: co_await takes the "
      "value "
      "out, or ends the function there with what it found instead. No exception is thrown.");
  show_stop(page, "std::optional: \"12\" + \"no number\" + \"30\"", stop_with_optional());
  show_stop(page, "coracle::expected: the same", stop_with_expected());
}
}  // namespace tour
