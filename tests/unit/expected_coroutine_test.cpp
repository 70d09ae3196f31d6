// tests/unit/expected_coroutine_test.cpp -- expected as a coroutine.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/utility/expected_coroutine.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace {
using coracle::expected;
using coracle::unexpected;
using coracle::testing::allocator_log;
using coracle::testing::failing_allocator;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;

using number = expected<int, std::string>;

template <class T>
using awaited = decltype(std::declval<std::coroutine_traits<expected<int, int>>::promise_type&>()
                             .await_transform(std::declval<T>())
                             .await_resume());
static_assert(std::is_same_v<awaited<expected<std::string, int>&>, std::string&>);
static_assert(std::is_same_v<awaited<const expected<std::string, int>&>, const std::string&>);
static_assert(std::is_same_v<awaited<expected<std::string, int>>, std::string>);
static_assert(std::is_void_v<awaited<expected<void, int>>>);

number good(int value) { return value; }
number bad(const char* why) { return unexpected<std::string>(why); }

number sum(number a, number b) { co_return co_await a + co_await b; }

TEST_CASE("expected coroutine: returns the value when all awaited ones hold values") {
  const number result = sum(1, 2);
  REQUIRE(result.has_value());
  CHECK(*result == 3);
}

TEST_CASE("expected coroutine: returns the first error") {
  CHECK(sum(bad("left"), 2).error() == "left");
  CHECK(sum(1, bad("right")).error() == "right");
  CHECK(sum(bad("left"), bad("right")).error() == "left");
}

TEST_CASE("expected coroutine: the error is converted to the coroutine's error type") {
  auto body = [](expected<int, const char*> source) -> expected<double, std::string> {
    co_return co_await source / 2.0;
  };
  CHECK(*body(3) == 1.5);
  CHECK(body(unexpected("literal")).error() == "literal");
}

TEST_CASE("expected coroutine: co_return takes a value, an unexpected and an expected") {
  auto body = [](int what) -> number {
    if (what == 0) co_return 10;
    if (what == 1) co_return unexpected<std::string>("one");
    co_return good(12);
  };
  CHECK(*body(0) == 10);
  CHECK(body(1).error() == "one");
  CHECK(*body(2) == 12);
}

TEST_CASE("expected coroutine: awaiting an unexpected ends it with that error") {
  auto body = [](bool fails) -> number {
    if (fails) co_await unexpected("gave up");
    co_return 1;
  };
  CHECK(*body(false) == 1);
  CHECK(body(true).error() == "gave up");
}

TEST_CASE("expected coroutine: of void runs to its end, or ends with an error") {
  auto check = [](int value) -> expected<void, std::string> {
    if (value < 0) co_await unexpected("negative");
    if (value == 0) co_return;
    co_await good(value);
  };
  auto both = [check](int a, int b) -> expected<void, std::string> {
    co_await check(a);
    co_await check(b);
  };
  CHECK(both(1, 0).has_value());
  CHECK(both(1, -1).error() == "negative");
  CHECK(both(-1, 1).error() == "negative");
}

TEST_CASE("expected coroutine: awaiting an lvalue gives a reference, an rvalue the value moved out") {
  auto body = [](expected<std::string, int>& text) -> expected<std::string, int> {
    std::string& inside = co_await text;
    CHECK(&inside == &*text);
    inside += "!";
    co_return co_await std::move(text);
  };
  expected<std::string, int> text("a long enough text to be on the heap");
  CHECK(*body(text) == "a long enough text to be on the heap!");
  CHECK(text->empty());
  expected<std::string, int> error = unexpected(3);
  CHECK(body(error).error() == 3);
}

TEST_CASE("expected coroutine: the error of an lvalue is copied, that of an rvalue moved") {
  using owner = std::unique_ptr<int>;
  auto body = [](expected<int, owner> source) -> expected<int, owner> {
    co_return co_await std::move(source);
  };
  const auto result = body(unexpected(std::make_unique<int>(5)));
  REQUIRE_FALSE(result.has_value());
  CHECK(*result.error() == 5);

  auto copying = [](number& source) -> number { co_return co_await source; };
  number source = bad("kept");
  CHECK(copying(source).error() == "kept");
  CHECK(source.error() == "kept");
}

TEST_CASE("expected coroutine: the locals are destroyed in reverse order before the caller sees the result") {
  auto body = [](lifetimes& log, number value) -> number {
    const lifetime_probe first(log, 1);
    const lifetime_probe second(log, 2);
    co_return co_await value;
  };
  lifetimes log;
  CHECK(*body(log, 5) == 5);
  CHECK(log.destroyed == std::vector<int>{2, 1});
  CHECK(body(log, bad("no")).error() == "no");
  CHECK(log.destroyed == std::vector<int>{2, 1, 2, 1});
  CHECK(log.alive == 0);
}

TEST_CASE("expected coroutine: values and errors are destroyed once") {
  using probed = expected<lifetime_probe, lifetime_probe>;
  auto make = [](lifetimes& log, bool there) -> probed {
    if (there) return lifetime_probe(log, 1);
    return unexpected(lifetime_probe(log, 2));
  };
  auto body = [make](lifetimes& log, bool there) -> probed {
    lifetime_probe value = co_await make(log, there);
    co_return std::move(value);
  };
  for (const bool there : {true, false}) {
    lifetimes log;
    {
      const probed result = body(log, there);
      CHECK(result.has_value() == there);
      CHECK(log.destroyed.empty());
      CHECK(log.alive == 1);
    }
    CHECK(log.destroyed == std::vector<int>{there ? 1 : 2});
    CHECK(log.alive == 0);
    CHECK(log.copies == 0);
  }
}

TEST_CASE("expected coroutine: an exception leaves the call, after the locals") {
  auto body = [](lifetimes& log, lifetime_probe, bool late) -> number {
    const lifetime_probe local(log, 1);
    if (late) co_await good(1);
    throw std::runtime_error("failed");
  };
  for (const bool late : {false, true}) {
    lifetimes log;
    CHECK_THROWS_AS(static_cast<void>(body(log, lifetime_probe(log, 2), late)), std::runtime_error);
    CHECK(log.alive == 0);
  }
}

struct picky_error {
  picky_error(const char* why) : text(why) {
    if (text == "refused") throw std::runtime_error("refused");
  }
  std::string text;
};

TEST_CASE("expected coroutine: an error that cannot be converted is thrown at the co_await") {
  auto body = [](const char* why, bool& caught) -> expected<int, picky_error> {
    try {
      co_await expected<int, const char*>(unexpected(why));
    } catch (const std::runtime_error&) {
      caught = true;
    }
    co_return 1;
  };
  bool caught = false;
  CHECK(body("accepted", caught).error().text == "accepted");
  CHECK_FALSE(caught);
  CHECK(*body("refused", caught) == 1);
  CHECK(caught);
}

CORACLE_NOINLINE() number countdown(int n, bool fails) {
  if (n == 0 && fails) co_return co_await bad("bottom");
  if (n == 0) co_return 0;
  co_return co_await countdown(n - 1, fails) + 1;
}

TEST_CASE("expected coroutine: they call one another, and one error ends the chain") {
  CHECK(*countdown(10, false) == 10);
  CHECK(countdown(10, true).error() == "bottom");
}

// Not inlined, so that the compiler does not elide the frames that are counted.
CORACLE_NOINLINE() number allocated(std::allocator_arg_t, failing_allocator<int>, number value) {
  co_return co_await value;
}

TEST_CASE("expected coroutine: takes its frame from the allocator that it is given, and gives it back") {
  allocator_log log;
  const failing_allocator<int> memory(log);
  CHECK(*allocated(std::allocator_arg, memory, 1) == 1);
  CHECK(allocated(std::allocator_arg, memory, bad("no")).error() == "no");
  CHECK(log.allocated == 2);
  CHECK(log.freed == 2);
  CHECK(log.bytes == 0);
  log.until_failure = 1;
  CHECK_THROWS_AS(static_cast<void>(allocated(std::allocator_arg, memory, 1)), std::bad_alloc);
  CHECK(log.bytes == 0);
}

TEST_CASE("expected coroutine: where memory runs out, bad_alloc surfaces and nothing leaks" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  for (const bool fails : {false, true}) {
    coracle::trim_frame_memory();
    const int failed = coracle::testing::fail_each_allocation([fails] {
      try {
        static_cast<void>(countdown(4, fails));
      } catch (const std::bad_alloc&) {
      }
      coracle::trim_frame_memory();
    });
    CHECK(failed >= 5);
  }
}
}  // namespace
