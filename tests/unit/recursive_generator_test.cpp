// tests/unit/recursive_generator_test.cpp -- generators that yield generators.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/generators/recursive_generator.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <iterator>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/many.hpp"
#include "../support/run_on_stack.hpp"
#include "generator_walks.hpp"

namespace {
using coracle::recursive_generator;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::many;
using coracle_test::generator_walks::all;
using coracle_test::generator_walks::ints;

// Out of line where a test counts frames: clang elides the frames of visible coroutines.
[[gnu::noinline]] recursive_generator<const int> countdown(int n) {
  co_yield n;
  if (n > 0) co_yield countdown(n - 1);
}
recursive_generator<int> counting(int from, int to) {
  while (from < to) co_yield from++;
}
recursive_generator<int> halves(int from, int to) {
  if (to - from <= 10) {
    for (int i = from; i < to; ++i) co_yield i;
  } else {
    const int middle = from + (to - from) / 2;
    co_yield halves(from, middle);
    co_yield halves(middle, to);
  }
}

// ---- nesting -------------------------------------------------------------------------------------------

TEST_CASE("recursive_generator: yields the elements of another in their place") {
  CHECK(all(countdown(3)) == ints{3, 2, 1, 0});
  auto around = []() -> recursive_generator<int> {
    co_yield 1;
    co_yield counting(5, 7);
    co_yield counting(0, 0);
    co_yield counting(0, 0);
    co_yield 2;
    co_yield counting(8, 9);
  };
  CHECK(all(around()) == ints{1, 5, 6, 2, 8});
}

TEST_CASE("recursive_generator: a deep tree comes in order") {
  int next = 0;
  for (int element : halves(0, 10'000)) {
    if (element != next) break;
    ++next;
  }
  CHECK(next == 10'000);
}

TEST_CASE("recursive_generator: a named generator is used up; an empty or ended one yields nothing") {
  recursive_generator<int> named = counting(1, 3), ended = counting(4, 5), empty;
  CHECK(all(ended) == ints{4});
  auto outer = [](recursive_generator<int>& a, recursive_generator<int>& b,
                  recursive_generator<int>& c) -> recursive_generator<int> {
    co_yield a;
    co_yield a;
    co_yield b;
    co_yield c;
    co_yield 9;
  };
  CHECK(all(outer(named, ended, empty)) == ints{1, 2, 9});
  CHECK(all(named).empty());
}

TEST_CASE("recursive_generator: elements_of nests ranges and generators that show the same") {
  auto plain = [](int& x) -> coracle::generator<int&> { co_yield x; };
  auto outer = [&](ints& range, int& x) -> recursive_generator<int> {
    co_yield coracle::elements_of(range);
    co_yield coracle::elements_of(plain(x));
  };
  ints numbers{1, 2};
  int three = 3;
  for (int& element : outer(numbers, three)) element *= 10;
  CHECK(numbers == ints{10, 20});
  CHECK(three == 30);
}

TEST_CASE("recursive_generator: yielding one that has begun ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] {
          auto outer = [](recursive_generator<int>& inner) -> recursive_generator<int> { co_yield inner; };
          recursive_generator<int> begun = counting(0, 3);
          static_cast<void>(begun.begin());
          recursive_generator<int> wrong = outer(begun);
          static_cast<void>(wrong.begin());
        }) == "coracle: co_yield needs a generator that has not been started\n");
}

// ---- elements ------------------------------------------------------------------------------------------

TEST_CASE("recursive_generator: shows lvalues and temporaries where they stand, to be changed or moved") {
  lifetimes log;
  auto two = [](lifetimes& into) -> recursive_generator<lifetime_probe> {
    lifetime_probe named(into, 1);
    co_yield named;
    CHECK(named.moved_from());
    co_yield lifetime_probe(into, 2);
  };
  ints ids;
  for (lifetime_probe& probe : two(log)) ids.push_back(lifetime_probe(std::move(probe)).id());
  CHECK(ids == ints{1, 2});
  CHECK(log.copies == 0);
  CHECK(log.moves == 2);
  CHECK(log.alive == 0);
}

TEST_CASE("recursive_generator: of mutable elements shows a const lvalue as a copy") {
  auto body = [](const std::string& from) -> recursive_generator<std::string> { co_yield from; };
  const std::string text = "text";
  for (std::string& element : body(text)) element += "s";
  CHECK(text == "text");
}

TEST_CASE("recursive_generator: converts what is yielded") {
  auto body = []() -> recursive_generator<std::string> {
    const char* const two = "two";
    co_yield "one";
    co_yield two;
  };
  std::string joined;
  for (const std::string& element : body()) joined += element + ",";
  CHECK(joined == "one,two,");
}

TEST_CASE("recursive_generator: move-only elements can be taken") {
  auto body = []() -> recursive_generator<std::unique_ptr<int>> {
    co_yield std::make_unique<int>(1);
    auto named = std::make_unique<int>(2);
    co_yield named;
    CHECK(named == nullptr);
  };
  int sum = 0;
  for (std::unique_ptr<int>& element : body()) sum += *std::unique_ptr<int>(std::move(element));
  CHECK(sum == 3);
}

TEST_CASE("recursive_generator: of const, reference and const reference elements") {
  int object = 1;
  auto refer = [](int& to) -> recursive_generator<int&> { co_yield to; };
  auto refer_const = [](const int& to) -> recursive_generator<const int&> {
    co_yield to;
    co_yield 2;
  };
  auto constant = [](const int& to) -> recursive_generator<const int> {
    co_yield to;
    co_yield 2;
  };
  auto rvalue = []() -> recursive_generator<std::string&&> { co_yield std::string("moved"); };
  for (int& element : refer(object)) element = 5;
  CHECK(object == 5);
  CHECK(&*refer_const(object).begin() != nullptr);
  CHECK(all(refer_const(object)) == ints{5, 2});
  CHECK(all(constant(object)) == ints{5, 2});
  for (std::string&& element : rvalue()) CHECK(std::string(std::move(element)) == "moved");
}

template <class T>
using iterator_of = typename recursive_generator<T>::iterator;
static_assert(std::is_same_v<std::iter_reference_t<iterator_of<int>>, int&>);
static_assert(std::is_same_v<std::iter_reference_t<iterator_of<const int>>, const int&>);
static_assert(std::is_same_v<std::iter_reference_t<iterator_of<const int&>>, const int&>);
static_assert(std::is_same_v<std::iter_reference_t<iterator_of<int&&>>, int&&>);
static_assert(std::is_same_v<std::iter_value_t<iterator_of<const int&>>, int>);
static_assert(std::ranges::input_range<recursive_generator<int>> &&
              std::ranges::common_range<recursive_generator<int>> &&
              std::ranges::view<recursive_generator<const int>> &&
              !std::ranges::forward_range<recursive_generator<int>>);
static_assert(
    std::is_same_v<std::iterator_traits<iterator_of<int>>::iterator_category, std::input_iterator_tag>);
static_assert(!std::is_copy_constructible_v<recursive_generator<int>> &&
              std::is_nothrow_move_constructible_v<recursive_generator<int>> &&
              std::is_nothrow_move_assignable_v<recursive_generator<int>>);

// ---- iteration -----------------------------------------------------------------------------------------

TEST_CASE("recursive_generator: default constructed or moved from it is an empty sequence") {
  recursive_generator<int> empty, source = counting(0, 2), target = std::move(source);
  CHECK(empty.begin() == empty.end());
  CHECK(source.begin() == source.end());  // NOLINT: what a moved-from one does
  CHECK(all(target) == ints{0, 1});
}

TEST_CASE("recursive_generator: after the end begin() gives the end again") {
  recursive_generator<int> twice = counting(0, 2);
  CHECK(all(twice) == ints{0, 1});
  CHECK(all(twice).empty());
  CHECK(twice.begin() == twice.end());
}

TEST_CASE("recursive_generator: a second loop goes on after the element where the first was left") {
  recursive_generator<int> source = counting(0, 5);
  for (int element : source) {
    if (element == 1) break;
  }
  recursive_generator<int> moved = std::move(source);
  CHECK(all(moved) == ints{2, 3, 4});
}

TEST_CASE("recursive_generator: works with algorithms of two iterators") {
  auto a = halves(5, 300), b = halves(5, 300), c = halves(5, 30);
  CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  auto d = halves(5, 300);
  CHECK_FALSE(std::equal(c.begin(), c.end(), d.begin(), d.end()));
  auto e = counting(0, 4);
  CHECK(std::vector<int>(e.begin(), e.end()) == ints{0, 1, 2, 3});
}

TEST_CASE("recursive_generator: runs nothing before begin, and no further than the next element") {
  int reached = 0;
  auto steps = [](int& at) -> recursive_generator<std::string> {
    at = 1;
    co_yield "a";
    at = 2;
    co_yield "bc";
    at = 3;
  };
  recursive_generator<std::string> body = steps(reached);
  CHECK(reached == 0);
  auto it = body.begin();
  CHECK(reached == 1);
  CHECK(it->size() == 1);
  it++;
  CHECK(reached == 2);
  CHECK(*it == "bc");
  CHECK(it != body.end());
  ++it;
  CHECK(reached == 3);
  CHECK(it == body.end());
}

TEST_CASE("recursive_generator: dereferencing or passing the end ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] {
          recursive_generator<int> empty;
          static_cast<void>(*empty.begin());
        }) == "coracle: the end of a generator was dereferenced: compare the iterator with end() first\n");
  CHECK(coracle_test::abort_message([] {
          recursive_generator<int> ended = counting(0, 0);
          ++ended.begin();
        }) ==
        "coracle: an iterator at the end of a generator was incremented: compare it with end() first\n");
}

// ---- exceptions and lifetimes --------------------------------------------------------------------------

TEST_CASE("recursive_generator: an exception leaves begin() or the increment, then it is at the end") {
  auto fail_after = [](int elements) -> recursive_generator<int> {
    for (int i = 0; i != elements; ++i) co_yield i;
    throw std::runtime_error("enough");
  };
  recursive_generator<int> at_once = fail_after(0);
  CHECK_THROWS_AS(at_once.begin(), std::runtime_error);
  CHECK(at_once.begin() == at_once.end());
  recursive_generator<int> later = fail_after(1);
  auto it = later.begin();
  CHECK_THROWS_AS(++it, std::runtime_error);
  CHECK(it == later.end());
}

TEST_CASE("recursive_generator: an exception of a nested one is thrown from the co_yield, which can go on") {
  auto fail = [](int element) -> recursive_generator<int> {
    co_yield element;
    throw element;
  };
  auto outer = [&]() -> recursive_generator<int> {
    for (int i = 1; i != 3; ++i) {
      bool caught = false;
      try {
        co_yield fail(i);
      } catch (int) {
        caught = true;
      }
      if (caught) co_yield 10 * i;
    }
    co_yield fail(3);
  };
  recursive_generator<int> body = outer();
  ints seen;
  CHECK_THROWS_AS(
      [&] {
        for (int element : body) seen.push_back(element);
      }(),
      int);
  CHECK(seen == ints{1, 10, 2, 20, 3});
}

TEST_CASE("recursive_generator: destroyed early it destroys what lives, innermost first") {
  lifetimes log;
  auto inner = [](lifetimes& l) -> recursive_generator<int> {
    const lifetime_probe local(l, 2);
    co_yield 1;
    co_yield 2;
  };
  auto outer = [&](lifetimes& l) -> recursive_generator<int> {
    const lifetime_probe local(l, 1);
    co_yield inner(l);
  };
  {
    recursive_generator<int> body = outer(log);
    for (int element : body) {
      if (element == 1) break;
    }
    CHECK(log.alive == 2);
  }
  CHECK(log.destroyed == ints{2, 1});
}

TEST_CASE("recursive_generator: a hundred thousand levels run, and are destroyed, on a small stack") {
  int seen = 0;
  CHECK(coracle_test::run_on_stack(256 * 1024, [&] {
    for (int element : countdown(many(100'000))) seen += element >= 0;
    for (int element : countdown(many(100'000))) {
      if (element == 0) break;
    }
  }));
  CHECK(seen == many(100'000) + 1);
}

// ---- memory and fmap -----------------------------------------------------------------------------------

using bytes = coracle::testing::failing_allocator<std::byte>;
[[gnu::noinline]] recursive_generator<int> allocated(std::allocator_arg_t, bytes, int n) { co_yield n; }

TEST_CASE("recursive_generator: takes its frame from the allocator that it is given") {
  coracle::testing::allocator_log log;
  CHECK(all(allocated(std::allocator_arg, bytes(log), 7)) == ints{7});
  CHECK(log.allocated == 1);
  CHECK(log.freed == 1);
}

TEST_CASE("recursive_generator: where the k-th allocation fails bad_alloc surfaces and nothing leaks" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int caught = 0;
  const int failed = coracle::testing::fail_each_allocation([&] {
    try {
      for (int element : countdown(3)) static_cast<void>(element);
    } catch (const std::bad_alloc&) {
      ++caught;
    }
  });
  CHECK(failed == caught);
  CHECK(failed == 4);
}

TEST_CASE("fmap: of a recursive_generator gives the generator of what a function makes of each element") {
  auto thrice = [](int x) { return 3 * x; };
  CHECK(all(coracle::fmap(halves(0, 30), thrice)).back() == 87);
  auto in_place = [](int& x) -> int& { return x; };
  for (int& element : coracle::fmap(counting(0, 3), in_place)) ++element;  // skips every second one
  struct point {
    int x;
  };
  auto points = []() -> recursive_generator<point> {
    co_yield point{1};
    co_yield point{2};
  };
  CHECK(all(coracle::fmap(points(), &point::x)) == ints{1, 2});
  auto texts = []() -> recursive_generator<std::string&&> { co_yield std::string("moved"); };
  auto size_of = [](std::string&& text) { return std::string(std::move(text)).size(); };
  CHECK(all(coracle::fmap(texts(), size_of)) == ints{5});
}
}  // namespace
