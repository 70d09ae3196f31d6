// tests/unit/generator_nesting_test.cpp -- generators inside generators.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/generators/generator.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>

#include "../support/many.hpp"
#include "../support/run_on_stack.hpp"
#include "generator_walks.hpp"

namespace {
using coracle::elements_of;
using coracle::generator;
using coracle::testing::allocator_log;
using coracle::testing::failing_allocator;
using coracle_test::generator_walks::all;
using coracle_test::generator_walks::allocated_walk;
using coracle_test::generator_walks::counting;
using coracle_test::generator_walks::ints;

generator<int> nested_failure(int depth, ints& passed) {
  co_yield depth;
  try {
    if (depth == 0) throw std::runtime_error("innermost");
    co_yield elements_of(nested_failure(depth - 1, passed));
  } catch (const std::runtime_error&) {
    passed.push_back(depth);
    throw;
  }
}

TEST_CASE("generator: an exception in a nested generator surfaces at the outer co_yield") {
  auto outer = [](ints& passed) -> generator<int> {
    co_yield -1;
    try {
      co_yield elements_of(nested_failure(2, passed));
    } catch (const std::runtime_error& error) {
      CHECK(error.what() == std::string("innermost"));
      passed.push_back(100);
    }
    co_yield -2;
    co_yield elements_of(counting(5, 7));
  };
  ints passed;
  CHECK(all(outer(passed)) == ints{-1, 2, 1, 0, -2, 5, 6});
  CHECK(passed == ints{0, 1, 2, 100});
}

TEST_CASE("generator: an exception that no level catches leaves the increment of the root") {
  ints passed, seen;
  auto outer = [](ints& into) -> generator<int> { co_yield elements_of(nested_failure(3, into)); };
  generator<int> body = outer(passed);
  auto run = [&] {
    for (int i : body) seen.push_back(i);
  };
  CHECK_THROWS_AS(run(), std::runtime_error);
  CHECK(seen == ints{3, 2, 1, 0});
  CHECK(passed == ints{0, 1, 2, 3});
}

TEST_CASE(
    "generator: a root that fails behind a nested one throws from its increment, and is then at the end") {
  for (const int nested : {0, 1, 3}) {
    auto outer = [](int count) -> generator<int> {
      co_yield -1;
      co_yield elements_of(counting(0, count));
      throw std::runtime_error("root");
    };
    generator<int> body = outer(nested);
    auto at = body.begin();
    for (int i = 0; i != nested; ++i) ++at;
    CHECK_THROWS_WITH_AS(++at, "root", std::runtime_error);
    CHECK(at == body.end());
  }
}

// Yields the numbers of [from, to) in order, with a coroutine for each node of a balanced tree.
generator<int> walk(int from, int to) {
  if (from == to) co_return;
  const int middle = (from + to) / 2;
  co_yield elements_of(walk(from, middle));
  co_yield middle;
  co_yield elements_of(walk(middle + 1, to));
}

TEST_CASE("generator: nested generators yield in their place") {
  const ints numbers = all(walk(0, 1000));
  REQUIRE(numbers.size() == 1000);
  for (int i = 0; i != 1000; ++i) REQUIRE(numbers[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("generator: nested generators may yield nothing, several in a row") {
  auto outer = []() -> generator<int> {
    co_yield elements_of(counting(0, 0));
    co_yield elements_of(counting(0, 0));
    co_yield 1;
    co_yield elements_of(counting(0, 0));
    co_yield elements_of(counting(2, 3));
    co_yield elements_of(counting(0, 0));
  };
  CHECK(all(outer()) == ints{1, 2});
}

TEST_CASE("generator: elements_of takes a named generator, and one of another type that yields the same") {
  auto same_yield = []() -> generator<int&&, long> { co_yield 3; };
  auto outer = [same_yield]() -> generator<int> {
    generator<int> named = counting(0, 2);
    co_yield elements_of(named);
    generator<int> moved = counting(2, 3);
    co_yield elements_of(std::move(moved));
    co_yield elements_of(same_yield());
  };
  CHECK(all(outer()) == ints{0, 1, 2, 3});
}

TEST_CASE("generator: elements_of takes any input range whose elements convert") {
  auto outer = [](ints& numbers) -> generator<int> {
    co_yield elements_of(numbers);
    co_yield elements_of(ints(2, 4));
    const std::array<short, 2> shorts{6, 7};
    co_yield elements_of(shorts);
    co_yield elements_of(std::views::iota(8, 10));
    static constexpr int plain[] = {10, 11};
    co_yield elements_of(plain);
  };
  ints numbers{1, 2, 3};
  CHECK(all(outer(numbers)) == ints{1, 2, 3, 4, 4, 6, 7, 8, 9, 10, 11});
  CHECK(numbers == ints{1, 2, 3});

  auto by_reference = [](ints& from) -> generator<int&> { co_yield elements_of(from); };
  for (int& number : by_reference(numbers)) number = 0;
  CHECK(numbers == ints{0, 0, 0});
}

TEST_CASE("generator: a generator of another yielded type is walked as a range") {
  auto longs = []() -> generator<const long&> {
    co_yield 1;
    co_yield 2;
  };
  auto outer = [longs]() -> generator<int> { co_yield elements_of(longs()); };
  CHECK(all(outer()) == ints{1, 2});
}

TEST_CASE("generator: a range that throws, throws at the co_yield") {
  auto outer = []() -> generator<int> {
    try {
      co_yield elements_of(std::views::iota(0, 3) | std::views::transform([](int i) {
                             return i == 2 ? throw std::runtime_error("two") : i;
                           }));
    } catch (const std::runtime_error&) {
    }
    co_yield 9;
  };
  CHECK(all(outer()) == ints{0, 1, 9});
}

TEST_CASE("generator: one that iterates over others stays a root of its own") {
  auto sums = []() -> generator<int> {
    generator<int> left = walk(0, 4);
    generator<int> right = walk(10, 14);
    auto l = left.begin();
    auto r = right.begin();
    for (; l != left.end() && r != right.end(); ++l, ++r) co_yield *l + *r;
  };
  auto outer = [sums]() -> generator<int> {
    co_yield elements_of(sums());
    co_yield elements_of(sums());
  };
  CHECK(all(outer()) == ints{10, 12, 14, 16, 10, 12, 14, 16});
}

TEST_CASE("generator: nests as usual inside a task that runs on a drain loop") {
  auto sum = []() -> coracle::task<int> {
    int total = 0;
    for (int i : walk(0, 100)) total += i;
    co_return total;
  };
  auto root = [sum]() -> coracle::task<int> {
    const int first = co_await sum();
    co_return first + co_await sum();
  };
  CHECK(coracle::sync_wait(root()) == 2 * 4950);
}

generator<int> chain(int depth) {
  co_yield depth;
  if (depth != 0) co_yield elements_of(chain(depth - 1));
  co_yield depth;
}

constexpr int deep = coracle_test::many(1'000'000);

TEST_CASE("generator: a million levels run on a small stack") {
  long long sum = 0;
  int count = 0;
  CHECK(coracle_test::run_on_stack(128 * 1024, [&] {
    for (int i : chain(deep)) {
      sum += i;
      ++count;
    }
  }));
  CHECK(count == 2 * (deep + 1));
  CHECK(sum == static_cast<long long>(deep) * (deep + 1));
}

TEST_CASE("generator: a million levels are destroyed on a small stack") {
  bool reached = false;
  CHECK(coracle_test::run_on_stack(128 * 1024, [&] {
    for (int i : chain(deep)) {
      if ((reached = i == 0)) break;
    }
  }));
  CHECK(reached);
}

generator<int> failing_chain(int depth) {
  if (depth == 0) throw std::runtime_error("bottom");
  co_yield elements_of(failing_chain(depth - 1));
}

TEST_CASE("generator: an exception climbs ten thousand levels on a small stack") {
  bool caught = false;
  CHECK(coracle_test::run_on_stack(128 * 1024, [&] {
    try {
      failing_chain(10'000).begin();
    } catch (const std::runtime_error&) {
      caught = true;
    }
  }));
  CHECK(caught);
}

TEST_CASE("generator: elements_of walks a range in a frame from its allocator") {
  allocator_log log;
  auto outer = [](allocator_log& into) -> generator<int> {
    const ints numbers{1, 2, 3};
    co_yield elements_of(numbers, failing_allocator<int>(into));
  };
  CHECK(all(outer(log)) == ints{1, 2, 3});
  CHECK(log.allocated == 1);
  CHECK(log.bytes == 0);
}

TEST_CASE("generator: an allocation failure in a nested call is thrown inside the outer body") {
  allocator_log log;
  auto outer = [](allocator_log& into) -> generator<int> {
    co_yield 1;
    into.until_failure = 1;
    try {
      co_yield elements_of(allocated_walk(std::allocator_arg, failing_allocator<int>(into), 0, 3));
    } catch (const std::bad_alloc&) {
    }
    co_yield 2;
  };
  CHECK(all(outer(log)) == ints{1, 2});
  CHECK(log.bytes == 0);
}
}  // namespace
