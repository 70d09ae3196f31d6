// tests/unit/generator_test.cpp -- generator: elements, nesting, exceptions, lifetimes, memory.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <coracle/generators/generator.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/run_on_stack.hpp"
#include "generator_walks.hpp"

namespace {
using coracle::elements_of;
using coracle::generator;
using coracle::testing::allocator_log;
using coracle::testing::failing_allocator;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::generator_walks::all;
using coracle_test::generator_walks::allocated_walk;
using coracle_test::generator_walks::counting;
using coracle_test::generator_walks::ints;

template <class G>
using iterator_of = decltype(std::declval<G&>().begin());

static_assert(std::ranges::input_range<generator<int>> && !std::ranges::forward_range<generator<int>>);
static_assert(std::ranges::view<generator<int>> && !std::copyable<generator<int>>);
static_assert(!std::copyable<iterator_of<generator<int>>> && std::movable<iterator_of<generator<int>>>);
static_assert(std::sentinel_for<std::default_sentinel_t, iterator_of<generator<int>>>);

template <class G, class Reference, class Value, class Yielded>
constexpr bool has_types =
    std::is_same_v<std::ranges::range_reference_t<G>, Reference> &&
    std::is_same_v<std::ranges::range_value_t<G>, Value> && std::is_same_v<typename G::yielded, Yielded>;
static_assert(has_types<generator<int>, int&&, int, int&&>);
static_assert(has_types<generator<int&>, int&, int, int&>);
static_assert(has_types<generator<const int&>, const int&, int, const int&>);
static_assert(has_types<generator<const int&&>, const int&&, int, const int&&>);
static_assert(has_types<generator<std::string_view, std::string>, std::string_view, std::string,
                        const std::string_view&>);
static_assert(has_types<generator<std::string&, std::string>, std::string&, std::string, std::string&>);

TEST_CASE("generator: shows each yielded value in order, then ends") {
  CHECK(all(counting(0, 5)) == ints{0, 1, 2, 3, 4});
  CHECK(all(counting(0, 0)).empty());
}

TEST_CASE("generator: runs nothing before begin, and no further than the next element") {
  int reached = 0;
  auto steps = [](int& at) -> generator<int> {
    at = 1;
    co_yield 10;
    at = 2;
    co_yield 20;
    at = 3;
  };
  generator<int> body = steps(reached);
  CHECK(reached == 0);
  auto it = body.begin();
  CHECK(reached == 1);
  CHECK(*it == 10);
  ++it;
  CHECK(reached == 2);
  CHECK(*it == 20);
  CHECK(it != body.end());
  it++;
  CHECK(reached == 3);
  CHECK(it == body.end());
}

TEST_CASE("generator: of references shows the very objects") {
  std::array<int, 3> numbers{1, 2, 3};
  auto each = [](std::array<int, 3>& from) -> generator<int&> {
    for (int& number : from) co_yield number;
  };
  for (int& number : each(numbers)) number *= 10;
  CHECK(numbers == std::array<int, 3>{10, 20, 30});
}

TEST_CASE("generator: of const references shows lvalues and temporaries without a copy") {
  lifetimes log;
  auto two = [](lifetimes& into) -> generator<const lifetime_probe&> {
    const lifetime_probe named(into, 1);
    co_yield named;
    co_yield lifetime_probe(into, 2);
  };
  ints ids;
  for (const lifetime_probe& probe : two(log)) ids.push_back(probe.id());
  CHECK(ids == ints{1, 2});
  CHECK(log.copies == 0);
  CHECK(log.moves == 0);
  CHECK(log.alive == 0);
}

TEST_CASE("generator: of values copies a yielded lvalue, and only that") {
  lifetimes log;
  auto two = [](lifetimes& into) -> generator<lifetime_probe> {
    lifetime_probe named(into, 1);
    co_yield named;
    CHECK_FALSE(named.moved_from());
    co_yield std::move(named);
    CHECK(named.moved_from());
    co_yield lifetime_probe(into, 2);
  };
  ints ids;
  for (lifetime_probe probe : two(log)) ids.push_back(probe.id());
  CHECK(ids == ints{1, 1, 2});
  CHECK(log.copies == 1);
  CHECK(log.moves == 3);
  CHECK(log.alive == 0);
}

TEST_CASE("generator: small values need no default constructor and no assignment, and may be nested") {
  struct fixed {
    explicit fixed(int value) noexcept : number(value) {}
    const int number;
  };
  auto inner = [](int from) -> generator<fixed> {
    co_yield fixed(from);
    co_yield fixed(from + 1);
  };
  auto outer = [inner]() -> generator<fixed> {
    co_yield fixed(0);
    co_yield elements_of(inner(1));
    co_yield elements_of(inner(3));
    co_yield fixed(5);
  };
  ints seen;
  for (const fixed& each : outer()) seen.push_back(each.number);
  CHECK(seen == ints{0, 1, 2, 3, 4, 5});

  auto pairs = []() -> generator<const std::pair<int, char>&&> {
    co_yield {1, 'a'};
    const std::pair<int, char> named(2, 'b');
    co_yield named;
  };
  std::string letters;
  for (const auto& [number, letter] : pairs()) letters.append(static_cast<std::size_t>(number), letter);
  CHECK(letters == "abb");
}

TEST_CASE("generator: a copy that throws is thrown at the co_yield") {
  lifetimes log;
  log.copies_until_throw = 0;
  bool caught = false;
  auto one = [](lifetimes& into, bool& seen) -> generator<lifetime_probe> {
    lifetime_probe named(into, 1);
    try {
      co_yield named;
    } catch (const coracle::testing::copy_failed&) {
      seen = true;
    }
  };
  for (auto&& probe : one(log, caught)) static_cast<void>(probe);
  CHECK(caught);
  CHECK(log.alive == 0);
}

TEST_CASE("generator: move-only elements can be taken") {
  auto owners = []() -> generator<std::unique_ptr<int>> {
    for (int i = 0; i != 3; ++i) co_yield std::make_unique<int>(i);
  };
  std::vector<std::unique_ptr<int>> taken;
  for (auto&& owner : owners()) taken.push_back(std::forward<decltype(owner)>(owner));
  REQUIRE(taken.size() == 3);
  CHECK(*taken[2] == 2);
}

TEST_CASE("generator: with a value type of its own shows the reference type by value") {
  auto words = []() -> generator<std::string_view, std::string> {
    std::string word = "a";
    for (int i = 0; i != 3; ++i) {
      co_yield word;
      word += 'a';
    }
  };
  std::vector<std::string> seen;
  for (std::string_view word : words()) seen.emplace_back(word);
  CHECK(seen == std::vector<std::string>{"a", "aa", "aaa"});
}

TEST_CASE("generator: goes through range adaptors") {
  auto odd_squares = counting(0, 100) | std::views::filter([](int i) { return i % 2 == 1; }) |
                     std::views::transform([](int i) { return i * i; }) | std::views::take(3);
  CHECK(all(odd_squares) == ints{1, 9, 25});
}

TEST_CASE("generator: a moved generator goes on where it was") {
  generator<int> first = counting(0, 4);
  auto it = first.begin();
  generator<int> second = std::move(first);
  ++it;
  CHECK(*it == 1);
  generator<int> third = counting(7, 9);
  third = std::move(second);
  ++it;
  CHECK(*it == 2);
  third.swap(second);
  ++it;
  CHECK(*it == 3);
  CHECK(++it == second.end());
}

TEST_CASE("generator: assignment destroys the body that was there") {
  lifetimes log;
  auto holding = [](lifetimes& into, int id) -> generator<int> {
    const lifetime_probe probe(into, id);
    co_yield id;
  };
  generator<int> target = holding(log, 1);
  target.begin();
  target = holding(log, 2);
  CHECK(log.destroyed == ints{1});
}

generator<int> failing_after(int count) {
  for (int i = 0; i != count; ++i) co_yield i;
  throw std::runtime_error("failed");
}

TEST_CASE("generator: an exception leaves begin or the increment, after the locals") {
  CHECK_THROWS_AS(failing_after(0).begin(), std::runtime_error);

  lifetimes log;
  auto failing = [](lifetimes& into) -> generator<int> {
    const lifetime_probe probe(into, 1);
    co_yield 1;
    throw std::runtime_error("failed");
  };
  generator<int> body = failing(log);
  auto it = body.begin();
  CHECK(log.alive == 1);
  CHECK_THROWS_AS(++it, std::runtime_error);
  CHECK(log.alive == 0);
  CHECK(it == body.end());
}

TEST_CASE("generator: the exception object dies when the last handler is left") {
  lifetimes log;
  auto inner = [](lifetimes& into) -> generator<int> {
    co_yield 1;
    throw lifetime_probe(into, 7);
  };
  auto outer = [inner](lifetimes& into) -> generator<int> {
    try {
      co_yield elements_of(inner(into));
    } catch (const lifetime_probe& probe) {
      CHECK(probe.id() == 7);
    }
    CHECK(into.alive == 0);
    co_yield 2;
  };
  CHECK(all(outer(log)) == ints{1, 2});
}

// Yields the numbers of [from, to) in order, with a coroutine for each node of a balanced tree.
generator<int> walk(int from, int to) {
  if (from == to) co_return;
  const int middle = (from + to) / 2;
  co_yield elements_of(walk(from, middle));
  co_yield middle;
  co_yield elements_of(walk(middle + 1, to));
}

generator<int> probed(lifetimes& log, int depth) {
  const lifetime_probe before(log, 10 * depth);
  co_yield depth;
  if (depth != 0) co_yield elements_of(probed(log, depth - 1));
  const lifetime_probe after(log, 10 * depth + 1);
  co_yield depth;
}

TEST_CASE("generator: destroyed at any point it destroys what lives, innermost first") {
  for (int steps = 0; steps != 7; ++steps) {
    CAPTURE(steps);
    lifetimes log;
    ints alive;
    {
      generator<int> body = probed(log, 2);
      if (steps != 0) {
        auto it = body.begin();
        for (int i = 1; i != steps; ++i) ++it;
      }
      log.destroyed.clear();
    }
    CHECK(log.alive == 0);
    const std::array<ints, 7> expected{ints{},         {20},         {10, 20}, {0, 10, 20},
                                       {1, 0, 10, 20}, {11, 10, 20}, {21, 20}};
    CHECK(log.destroyed == expected[static_cast<std::size_t>(steps)]);
  }
}

TEST_CASE("generator: leaving the loop early destroys it where it stands") {
  lifetimes log;
  for (int i : probed(log, 3)) {
    if (i == 1) break;
  }
  CHECK(log.alive == 0);
  CHECK(log.destroyed == ints{10, 20, 30});
}

TEST_CASE("generator: takes its frame from the allocator that it is given") {
  allocator_log log;
  CHECK(all(allocated_walk(std::allocator_arg, failing_allocator<int>(log), 0, 3)) == ints{0, 1, 2});
  CHECK(log.allocated == 7);
  CHECK(log.freed == 7);
  CHECK(log.bytes == 0);
}

struct member_generator {
  CORACLE_NOINLINE() generator<int> run(std::allocator_arg_t, failing_allocator<char>, int count) const {
    for (int i = 0; i != count; ++i) co_yield i + offset;
  }
  int offset = 5;
};

TEST_CASE("generator: a member function takes an allocator after its object") {
  allocator_log log;
  const member_generator object;
  CHECK(all(object.run(std::allocator_arg, failing_allocator<char>(log), 2)) == ints{5, 6});
  CHECK(log.allocated == 1);
  CHECK(log.bytes == 0);
}

CORACLE_NOINLINE() generator<int> plain_walk_with_range(const ints& numbers, int depth) {
  co_yield elements_of(numbers);
  if (depth != 0) co_yield elements_of(plain_walk_with_range(numbers, depth - 1));
}

TEST_CASE("generator: where memory runs out at any allocation, bad_alloc surfaces and nothing leaks" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const ints numbers{1, 2};
  coracle::trim_frame_memory();
  const int failed = coracle::testing::fail_each_allocation([&] {
    try {
      for (int i : plain_walk_with_range(numbers, 2)) static_cast<void>(i);
    } catch (const std::bad_alloc&) {
    }
    coracle::trim_frame_memory();
  });
  CHECK(failed >= 4);
}

TEST_CASE("generator: in the steady state frames are recycled") {
  CHECK(all(walk(0, 63)).size() == 63);
  const std::size_t before = coracle::testing::allocations();
  int sum = 0;
  for (int i : walk(0, 63)) sum += i;
  const std::size_t after = coracle::testing::allocations();
  CHECK(sum == 1953);
  CHECK(after == before);
}

#if CORACLE_CHECKS()
TEST_CASE(
    "generator: begin() and elements_of of one that was begun or moved from end the program with a line") {
  const std::string begun_again = coracle_test::abort_message([] {
    generator<int> body = counting(0, 3);
    body.begin();
    body.begin();
  });
  CHECK(begun_again == "coracle: begin() needs a generator that has not been started or moved from\n");
  const std::string moved_from = coracle_test::abort_message([] {
    generator<int> body = counting(0, 3);
    const generator<int> other = std::move(body);
    body.begin();
  });
  CHECK(moved_from == begun_again);
  const std::string nested_late = coracle_test::abort_message([] {
    generator<int> body = counting(0, 3);
    body.begin();
    auto outer = [](generator<int>& used) -> generator<int> { co_yield elements_of(used); };
    outer(body).begin();
  });
  CHECK(nested_late == "coracle: elements_of needs a generator that has not been started or moved from\n");
}
#endif
}  // namespace
