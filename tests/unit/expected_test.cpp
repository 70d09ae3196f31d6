// tests/unit/expected_test.cpp -- coracle's own expected, or std's where it exists, passes the same tests.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/base/config.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/utility/expected.hpp>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"

namespace {
using coracle::bad_expected_access;
using coracle::expected;
using coracle::unexpect;
using coracle::unexpected;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;

using number = expected<int, std::string>;
using owner = std::unique_ptr<int>;

static_assert(std::is_same_v<number::value_type, int> && std::is_same_v<number::error_type, std::string>);
static_assert(std::is_same_v<number::unexpected_type, unexpected<std::string>>);
static_assert(std::is_same_v<number::rebind<long>, expected<long, std::string>>);
static_assert(std::is_trivially_copy_constructible_v<expected<int, char>>);
static_assert(std::is_trivially_destructible_v<expected<void, int>>);
static_assert(!std::is_trivially_copy_constructible_v<number> && std::is_copy_constructible_v<number>);
static_assert(!std::is_copy_constructible_v<expected<owner, int>> &&
              std::is_nothrow_move_constructible_v<expected<owner, int>> &&
              std::is_nothrow_move_assignable_v<expected<owner, int>>);
static_assert(std::is_convertible_v<int, number> && !std::is_convertible_v<std::string, number>);
static_assert(std::is_convertible_v<unexpected<const char*>, number>);
static_assert(!std::is_convertible_v<int*, expected<owner, int>> &&
              std::is_constructible_v<expected<owner, int>, int*>);

struct without_default {
  explicit without_default(int) {}
};
static_assert(!std::is_default_constructible_v<expected<without_default, int>>);
static_assert(std::is_default_constructible_v<expected<int, without_default>>);

constexpr int evaluated_by_the_compiler() {
  expected<int, char> a = 3;
  expected<int, char> b = unexpected('e');
  a.swap(b);
  b = a;
  a = 4;
  expected<void, char> c;
  c = unexpected('f');
  return *a * 1000 + b.error() + (c.has_value() ? 1 : 0);
}
static_assert(evaluated_by_the_compiler() == 4000 + 'e');

TEST_CASE("expected: is a value by default, from a value, and in place") {
  CHECK(number().value() == 0);
  CHECK(number(3).value() == 3);
  const expected<std::string, int> text(std::in_place, 3u, 'x');
  CHECK(*text == "xxx");
  CHECK(text->size() == 3);
  const expected<std::vector<int>, int> list(std::in_place, {1, 2, 3});
  CHECK(list->size() == 3);
  CHECK(static_cast<bool>(text));
}

TEST_CASE("expected: is an error from an unexpected, and in place") {
  const number named = unexpected<std::string>("no");
  CHECK_FALSE(named.has_value());
  CHECK(named.error() == "no");
  CHECK(number(unexpected("literal")).error() == "literal");
  CHECK(number(unexpect, 2u, 'e').error() == "ee");
  const expected<int, std::vector<int>> list(unexpect, {1, 2});
  CHECK(list.error().size() == 2);
}

TEST_CASE("expected: converts from another expected, value or error") {
  const expected<short, const char*> small = short{7};
  CHECK(*number(small) == 7);
  const expected<short, const char*> failed = unexpected("text");
  CHECK(number(failed).error() == "text");
  expected<owner, int> moved = expected<owner, short>(std::make_unique<int>(5));
  CHECK(**moved == 5);
}

TEST_CASE("expected: value throws the error, and what it throws holds it") {
  const number failed = unexpected<std::string>("why");
  try {
    static_cast<void>(failed.value());
    FAIL("value() did not throw");
  } catch (const bad_expected_access<std::string>& error) {
    CHECK(error.error() == "why");
  }
  CHECK_THROWS_AS(static_cast<void>(number(unexpected("x")).value()), bad_expected_access<void>);
  const expected<void, int> nothing = unexpected(3);
  CHECK_THROWS_AS(nothing.value(), bad_expected_access<int>);
}

TEST_CASE("expected: value_or gives the value or the other") {
  const number failed = unexpected("x");
  CHECK(failed.value_or(9) == 9);
  CHECK(number(1).value_or(9) == 1);
  expected<owner, int> held(std::make_unique<int>(4));
  CHECK(*std::move(held).value_or(nullptr) == 4);
}

TEST_CASE("expected: gives its value and its error by value category") {
  expected<owner, owner> held(std::make_unique<int>(1));
  const owner value = *std::move(held);
  CHECK(*value == 1);
  held = unexpected(std::make_unique<int>(2));
  const owner error = std::move(held).error();
  CHECK(*error == 2);
  static_assert(std::is_same_v<decltype(*std::declval<number&>()), int&>);
  static_assert(std::is_same_v<decltype(*std::declval<const number&>()), const int&>);
  static_assert(std::is_same_v<decltype(*std::declval<number>()), int&&>);
  static_assert(std::is_same_v<decltype(std::declval<const number&>().error()), const std::string&>);
}

TEST_CASE("expected: assignment changes the value, the error, and the one to the other") {
  number held = 1;
  held = 2;
  CHECK(*held == 2);
  held = unexpected<std::string>("a");
  CHECK(held.error() == "a");
  held = unexpected("b");
  CHECK(held.error() == "b");
  held = 3;
  CHECK(*held == 3);
  const number other = unexpected("c");
  held = other;
  CHECK(held.error() == "c");
  held = number(4);
  CHECK(*held == 4);
  held = number(5);
  CHECK(*held == 5);
  CHECK(held.emplace(6) == 6);
  held = unexpected("d");
  held.emplace(7);
  CHECK(*held == 7);
}

TEST_CASE("expected: of void is a flag and an error") {
  expected<void, std::string> held;
  CHECK(held.has_value());
  CHECK_NOTHROW(held.value());
  *held;
  held = unexpected("no");
  CHECK(held.error() == "no");
  const expected<void, std::string> copy = held;
  CHECK(copy == held);
  held.emplace();
  CHECK(held.has_value());
  CHECK_FALSE(copy == held);
  held = copy;
  CHECK(held == unexpected<std::string>("no"));
}

TEST_CASE("expected: swap exchanges any two") {
  number one = 1, two = 2, error = unexpected("e"), other = unexpected("o");
  swap(one, two);
  CHECK(*one == 2);
  error.swap(other);
  CHECK(error.error() == "o");
  one.swap(error);
  CHECK(one.error() == "o");
  CHECK(*error == 2);
  one.swap(error);
  CHECK(*one == 2);
  CHECK(error.error() == "o");
}

TEST_CASE("expected: compares with an expected, a value and an error") {
  CHECK(number(1) == number(1));
  CHECK_FALSE(number(1) == number(2));
  CHECK(number(1) != number(unexpected("1")));
  CHECK(number(unexpected("a")) == number(unexpected("a")));
  CHECK(number(1) == 1);
  CHECK(number(unexpected("a")) == unexpected<std::string>("a"));
  CHECK(number(1) != unexpected<std::string>("a"));
  CHECK(number(5) == expected<long, std::string>(5L));
}

TEST_CASE("expected: constructs and destroys each value and error once") {
  using probed = expected<lifetime_probe, lifetime_probe>;
  lifetimes log;
  {
    probed value(std::in_place, log, 1);
    probed error(unexpect, log, 2);
    const probed copy = value;
    const probed moved = std::move(error);
    CHECK(copy->id() == 1);
    CHECK(moved.error().id() == 2);
    CHECK(log.alive == 4);
  }
  CHECK(log.alive == 0);
  CHECK(log.destroyed == std::vector<int>{2, 1, 1});
}

/// Assignable both ways, and may throw when copied.
struct fragile {
  explicit fragile(lifetimes& log, int given = 0) : probe(log), id(given) {}
  fragile(const fragile& other) = default;
  fragile& operator=(const fragile& other) {
    id = other.id;
    return *this;
  }
  lifetime_probe probe;
  int id;
};

TEST_CASE("expected: where an assignment throws, the old value or error stays") {
  lifetimes log;
  {
    expected<int, fragile> value = 1;
    const fragile error(log, 2);
    log.copies_until_throw = 1;  // into the unexpected, and no further
    CHECK_THROWS_AS(value = unexpected<fragile>(error), coracle::testing::copy_failed);
    REQUIRE(value.has_value());
    CHECK(*value == 1);

    log.copies_until_throw = -1;
    expected<fragile, std::string> failed = unexpected("a text of more than sixteen characters");
    const expected<fragile, std::string> source(std::in_place, log, 3);
    log.copies_until_throw = 0;
    CHECK_THROWS_AS(failed = source, coracle::testing::copy_failed);
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error() == "a text of more than sixteen characters");
  }
  CHECK(log.alive == 0);
}

// std::expected of libstdc++ 12 lacks these members.
#if !defined(__cpp_lib_expected) || __cpp_lib_expected >= 202211L
TEST_CASE("expected: error_or gives the error or the other") {
  CHECK(number(1).error_or("none") == "none");
  const number failed = unexpected("x");
  CHECK(failed.error_or("none") == "x");
}

TEST_CASE("expected: and_then goes on with the value only") {
  auto half = [](int n) -> expected<double, std::string> {
    if (n < 0) return unexpected("negative");
    return n / 2.0;
  };
  CHECK(*number(3).and_then(half) == 1.5);
  CHECK(number(-1).and_then(half).error() == "negative");
  CHECK(number(unexpected("before")).and_then(half).error() == "before");
  const expected<void, std::string> done;
  CHECK(*done.and_then([]() -> number { return 1; }) == 1);
  expected<owner, int> held(std::make_unique<int>(4));
  CHECK(*std::move(held).and_then([](owner&& taken) -> expected<int, int> { return *taken; }) == 4);
}

TEST_CASE("expected: or_else goes on with the error only") {
  auto size = [](const std::string& why) -> expected<int, std::size_t> { return unexpected(why.size()); };
  CHECK(*number(3).or_else(size) == 3);
  CHECK(number(unexpected("four")).or_else(size).error() == 4);
  const expected<void, int> failed = unexpected(1);
  CHECK(failed.or_else([](int) -> expected<void, char> { return {}; }).has_value());
}

struct point {
  int twice() const { return 2 * x; }
  int x = 1;
  expected<int, int> checked = unexpected(8);
};

TEST_CASE("expected: transform changes the value, transform_error the error") {
  const number three = 3;
  const number failed = unexpected("e");
  CHECK(*three.transform([](int n) { return n * 2; }) == 6);
  CHECK(failed.transform([](int n) { return n * 2; }).error() == "e");
  int seen = 0;
  CHECK(three.transform([&](int n) { seen = n; }).has_value());
  CHECK(seen == 3);
  expected<owner, owner> held_owner(std::make_unique<int>(4));
  CHECK(*std::move(held_owner).transform([](owner&& taken) { return *taken; }) == 4);
  CHECK(number(unexpected("four")).transform_error(&std::string::size).error() == 4);
  CHECK(*number(3).transform_error(&std::string::size) == 3);
  const expected<point, int> held(std::in_place);
  CHECK(*held.transform(&point::twice) == 2);
  CHECK(*expected<const point*, int>(&*held).transform(&point::twice) == 2);
  CHECK(held.and_then(&point::checked).error() == 8);
  CHECK(*expected<void, int>().transform([] { return 1; }) == 1);
  static_assert(*expected<int, char>(3).transform([](int n) { return n + 1; }) == 4);
  CHECK(expected<void, int>(unexpect, 2).transform_error([](int e) { return e + 1; }).error() == 3);
}
#endif

#if CORACLE_CHECKS() && !defined(__cpp_lib_expected)
TEST_CASE("expected: looking at what is not there ends the program with a line") {
  CHECK(coracle_test::abort_message([] {
          const number failed = unexpected("x");
          static_cast<void>(*failed);
        }) == "coracle: the value of an expected that holds an error was accessed: test has_value() first\n");
  CHECK(coracle_test::abort_message([] {
          const number held = 1;
          static_cast<void>(held.error());
        }) == "coracle: the error of an expected that holds a value was accessed: test has_value() first\n");
}
#endif
}  // namespace
