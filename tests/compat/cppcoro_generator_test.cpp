// tests/compat/cppcoro_generator_test.cpp -- cppcoro::generator and recursive_generator.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/testing/lifetime_probe.hpp>
#include <cppcoro/async_generator.hpp>
#include <cppcoro/fmap.hpp>
#include <cppcoro/generator.hpp>
#include <cppcoro/recursive_generator.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <memory>
#include <string>
#include <vector>

namespace {
using cppcoro::generator;
using cppcoro::recursive_generator;

generator<int> count(int first, int end) {
  for (; first != end; ++first) co_yield first;
}
recursive_generator<int> nested(int depth) {
  co_yield depth;
  if (depth != 0) co_yield nested(depth - 1);
}

static_assert(std::is_same_v<generator<int>::iterator::reference, int&>);
static_assert(std::is_same_v<generator<const int>::iterator::reference, const int&>);
static_assert(std::is_same_v<generator<int&&>::iterator::reference, int&&>);
static_assert(std::input_iterator<generator<int>::iterator>);

TEST_CASE("cppcoro::generator: the caller changes the element that the body holds") {
  auto doubled = []() -> generator<int> {
    int value = 1;
    while (value < 100) {
      co_yield value;
      value *= 2;
    }
  };
  std::vector<int> seen;
  for (int& element : doubled()) {
    seen.push_back(element);
    ++element;
  }
  CHECK(seen == std::vector{1, 4, 10, 22, 46, 94});
}

TEST_CASE("cppcoro::generator: an empty, a moved-from and an ended one are empty sequences") {
  generator<int> empty;
  CHECK(empty.begin() == empty.end());
  generator<int> two = count(0, 2);
  generator<int> taken = std::move(two);
  CHECK(two.begin() == two.end());
  int elements = 0;
  for ([[maybe_unused]] int element : taken) ++elements;
  CHECK(elements == 2);
  CHECK(taken.begin() == taken.end());
}

TEST_CASE("cppcoro::generator: an exception ends the sequence") {
  auto fails = []() -> generator<int> {
    co_yield 1;
    throw 2;
  };
  generator<int> g = fails();
  auto it = g.begin();
  CHECK_THROWS_AS(++it, int);
  CHECK(it == g.end());
  CHECK(g.begin() == g.end());
}

TEST_CASE("cppcoro::generator: destroyed or assigned to early, it destroys its locals") {
  coracle::testing::lifetimes log;
  auto body = [](coracle::testing::lifetime_probe probe) -> generator<coracle::testing::lifetime_probe> {
    for (;;) co_yield probe;
  };
  generator<coracle::testing::lifetime_probe> g = body(coracle::testing::lifetime_probe(log));
  CHECK(g.begin() != g.end());
  CHECK(log.alive == 1);
  g = {};
  CHECK(log.alive == 0);
}

TEST_CASE("cppcoro::fmap: maps generators into cppcoro's generator, and async_generators") {
  auto square = [](int x) { return x * x; };
  std::vector<int> seen;
  generator<int> squares = count(1, 4) | cppcoro::fmap(square);
  for (int x : squares) seen.push_back(x);
  generator<int> nested_squares = nested(2) | cppcoro::fmap(square);
  for (int x : nested_squares) seen.push_back(x);
  CHECK(seen == std::vector{1, 4, 9, 4, 1, 0});

  auto numbers = []() -> cppcoro::async_generator<int> {
    co_yield 2;
    co_yield 3;
  };
  auto sum = [](cppcoro::async_generator<int> all) -> cppcoro::task<int> {
    int total = 0;
    for (auto it = co_await all.begin(); it != all.end(); co_await ++it) total += *it;
    co_return total;
  };
  CHECK(cppcoro::sync_wait(sum(numbers() | cppcoro::fmap(square))) == 13);
}

TEST_CASE("cppcoro::fmap: called unqualified it is not ambiguous for a generator of either namespace") {
  auto half = [](int x) { return x / 2; };
  int total = 0;
  for (int x : fmap(half, count(4, 6))) total += x;
  for (int x : fmap(half, nested(4))) total += x;
  CHECK(total == 2 + 2 + 2 + 1 + 1 + 0 + 0);
}

TEST_CASE("cppcoro::fmap: of a recursive_generator is a generator, whichever way it is called") {
  auto half = [](int x) { return x / 2; };
  cppcoro::generator<int> unqualified = fmap(half, nested(4));
  cppcoro::generator<int> qualified = cppcoro::fmap(half, nested(4));
  cppcoro::generator<int> piped = nested(4) | cppcoro::fmap(half);
  int total = 0;
  for (int& x : unqualified) total += x;
  for (int& x : qualified) total += x;
  for (int& x : piped) total += x;
  CHECK(total == 3 * (2 + 1 + 1 + 0 + 0));
}

TEST_CASE("cppcoro::fmap: qualified, it takes an async_generator") {
  auto numbers = []() -> cppcoro::async_generator<int> { co_yield 5; };
  auto first = [&]() -> cppcoro::task<int> {
    cppcoro::async_generator<int> squares = cppcoro::fmap([](int x) { return x * x; }, numbers());
    auto it = co_await squares.begin();
    co_return *it;
  };
  CHECK(cppcoro::sync_wait(first()) == 25);
}
}  // namespace
