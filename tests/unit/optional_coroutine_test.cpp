// tests/unit/optional_coroutine_test.cpp -- std::optional as a coroutine.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <any>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/utility/optional_coroutine.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace {
using coracle::testing::allocator_log;
using coracle::testing::failing_allocator;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;

template <class T>
using awaited = decltype(std::declval<std::coroutine_traits<std::optional<int>>::promise_type&>()
                             .await_transform(std::declval<T>())
                             .await_resume());
static_assert(std::is_same_v<awaited<std::optional<std::string>&>, std::string&>);
static_assert(std::is_same_v<awaited<const std::optional<std::string>&>, const std::string&>);
static_assert(std::is_same_v<awaited<std::optional<std::string>>, std::string>);

std::optional<int> some(int value) { return value; }
std::optional<int> none() { return std::nullopt; }

std::optional<int> sum(std::optional<int> a, std::optional<int> b) { co_return co_await a + co_await b; }

TEST_CASE("optional coroutine: returns the value when all awaited ones are there") { CHECK(sum(1, 2) == 3); }

TEST_CASE("optional coroutine: returns nothing when one awaited is not there") {
  CHECK(sum(1, std::nullopt) == std::nullopt);
  CHECK(sum(std::nullopt, 2) == std::nullopt);
}

TEST_CASE("optional coroutine: the lines after a missing value do not run") {
  auto steps = [](int& reached) -> std::optional<int> {
    reached = 1;
    co_await some(1);
    reached = 2;
    const int value = co_await none();
    reached = 3;
    co_return value;
  };
  int reached = 0;
  CHECK(steps(reached) == std::nullopt);
  CHECK(reached == 2);
}

TEST_CASE("optional coroutine: co_return takes nullopt and an optional too") {
  auto returning = [](int what) -> std::optional<std::string> {
    if (what == 0) co_return std::nullopt;
    if (what == 1) co_return std::optional<std::string>("one");
    if (what == 2) co_return {};
    co_return "literal";
  };
  CHECK(returning(0) == std::nullopt);
  CHECK(returning(1) == "one");
  CHECK(returning(2) == std::nullopt);
  CHECK(returning(3) == "literal");
}

TEST_CASE("optional coroutine: the locals are destroyed in reverse order before the caller sees the result") {
  auto body = [](lifetimes& log, std::optional<int> value) -> std::optional<int> {
    const lifetime_probe first(log, 1);
    const lifetime_probe second(log, 2);
    co_return co_await value;
  };
  lifetimes log;
  CHECK(body(log, 5) == 5);
  CHECK(log.destroyed == std::vector<int>{2, 1});
  CHECK(body(log, std::nullopt) == std::nullopt);
  CHECK(log.destroyed == std::vector<int>{2, 1, 2, 1});
  CHECK(log.alive == 0);
}

TEST_CASE("optional coroutine: parameters and temporaries are destroyed once") {
  auto body = [](lifetime_probe parameter, lifetimes& log, bool there) -> std::optional<int> {
    auto maybe = [](lifetime_probe probe, bool value) -> std::optional<int> {
      return value ? std::optional<int>(probe.id()) : std::nullopt;
    };
    co_return co_await maybe(lifetime_probe(log, 2), there) + parameter.id();
  };
  for (const bool there : {true, false}) {
    lifetimes log;
    const std::optional<int> result = body(lifetime_probe(log, 1), log, there);
    CHECK(result.has_value() == there);
    CHECK(log.alive == 0);
    CHECK(log.destroyed.size() == 2);
  }
}

TEST_CASE("optional coroutine: awaiting an lvalue gives a reference, an rvalue the value moved out") {
  auto body = [](std::optional<std::string>& text) -> std::optional<int> {
    std::string& inside = co_await text;
    CHECK(&inside == &*text);
    inside += "!";
    const std::string taken = co_await std::move(text);
    CHECK(taken == "a long enough text to be on the heap!");
    co_return static_cast<int>(taken.size());
  };
  std::optional<std::string> text = "a long enough text to be on the heap";
  CHECK(body(text) == 37);
  CHECK(text->empty());
}

TEST_CASE("optional coroutine: move-only values go through") {
  auto make = [](int value) -> std::optional<std::unique_ptr<int>> {
    if (value < 0) return std::nullopt;
    return std::make_unique<int>(value);
  };
  auto body = [make](int value) -> std::optional<std::unique_ptr<int>> {
    std::unique_ptr<int> owner = co_await make(value);
    ++*owner;
    co_return std::move(owner);
  };
  const auto result = body(1);
  REQUIRE(result.has_value());
  CHECK(**result == 2);
  CHECK_FALSE(body(-1).has_value());
}

TEST_CASE("optional coroutine: a type that holds anything is made from the value") {
  auto body = [](std::optional<int> value) -> std::optional<std::any> { co_return std::any(co_await value); };
  const std::optional<std::any> result = body(7);
  REQUIRE(result.has_value());
  CHECK(std::any_cast<int>(*result) == 7);
  CHECK_FALSE(body(std::nullopt).has_value());
}

CORACLE_NOINLINE() std::optional<int> depth_of(int n) {
  if (n == 0) co_return 0;
  if (n < 0) co_return co_await none();
  co_return co_await depth_of(n < 10 && n % 2 == 1 ? n - 1 : n - 2) + 1;
}

TEST_CASE("optional coroutine: they call one another, and one missing value ends the chain") {
  CHECK(depth_of(20) == 10);
  auto chain = [](auto& self, int n) -> std::optional<int> {
    if (n == 0) co_return co_await none();
    co_return co_await self(self, n - 1) + 1;
  };
  CHECK(chain(chain, 10) == std::nullopt);
}

TEST_CASE("optional coroutine: an exception leaves the call, after the locals") {
  auto body = [](lifetimes& log, lifetime_probe, bool late) -> std::optional<int> {
    const lifetime_probe local(log, 1);
    if (late) co_await some(1);
    throw std::runtime_error("failed");
  };
  for (const bool late : {false, true}) {
    lifetimes log;
    CHECK_THROWS_AS(static_cast<void>(body(log, lifetime_probe(log, 2), late)), std::runtime_error);
    CHECK(log.alive == 0);
  }
}

TEST_CASE("optional coroutine: an exception can be caught inside, and in the awaiting one") {
  auto failing = []() -> std::optional<int> {
    co_await some(1);
    throw std::runtime_error("failed");
  };
  auto body = [failing]() -> std::optional<int> {
    int value = 0;
    try {
      value = co_await failing();
    } catch (const std::runtime_error&) {
      value = -1;
    }
    co_return value;
  };
  CHECK(body() == -1);
}

struct member_coroutine {
  std::optional<int> plus(std::optional<int> value) const { co_return co_await value + offset; }
  CORACLE_NOINLINE()
  std::optional<int> plus(std::allocator_arg_t, failing_allocator<int>, std::optional<int> value) const {
    co_return co_await value + offset;
  }
  int offset = 10;
};

TEST_CASE("optional coroutine: may be a member function") {
  CHECK(member_coroutine().plus(1) == 11);
  CHECK(member_coroutine().plus(std::nullopt) == std::nullopt);
}

// Not inlined, so that the compiler does not elide the frames that are counted.
CORACLE_NOINLINE()
std::optional<int> allocated(std::allocator_arg_t, failing_allocator<int>, std::optional<int> value) {
  co_return co_await value;
}

TEST_CASE("optional coroutine: takes its frame from the allocator that it is given, and gives it back") {
  allocator_log log;
  const failing_allocator<int> memory(log);
  CHECK(allocated(std::allocator_arg, memory, 1) == 1);
  CHECK(allocated(std::allocator_arg, memory, std::nullopt) == std::nullopt);
  CHECK(member_coroutine().plus(std::allocator_arg, memory, 1) == 11);
  CHECK(log.allocated == 3);
  CHECK(log.freed == 3);
  CHECK(log.bytes == 0);
  log.until_failure = 1;
  CHECK_THROWS_AS(static_cast<void>(allocated(std::allocator_arg, memory, 1)), std::bad_alloc);
  CHECK(log.bytes == 0);
}

TEST_CASE("optional coroutine: where memory runs out, bad_alloc surfaces and nothing leaks" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  coracle::trim_frame_memory();
  const int failed = coracle::testing::fail_each_allocation([] {
    try {
      static_cast<void>(depth_of(8));
    } catch (const std::bad_alloc&) {
    }
    coracle::trim_frame_memory();
  });
  CHECK(failed >= 4);
}

#if !defined(__clang_major__) || __clang_major__ >= 22
struct throws_when_moved {
  explicit throws_when_moved(lifetimes& log) : probe(log) {}
  throws_when_moved(throws_when_moved&& other) : probe(other.probe) {}
  lifetime_probe probe;
};

TEST_CASE("optional coroutine: a result whose move throws leaves nothing behind") {
  auto body = [](lifetimes& log) -> std::optional<throws_when_moved> {
    co_return std::optional<throws_when_moved>(std::in_place, log);
  };
  coracle::trim_frame_memory();
  const long long before = coracle::testing::live_allocations();
  bool thrown = false;
  {
    lifetimes log;
    log.copies_until_throw = 1;  // the one into the frame; the next is the one to the caller
    try {
      static_cast<void>(body(log));
    } catch (const coracle::testing::copy_failed&) {
      thrown = log.alive == 0;
    }
  }
  coracle::trim_frame_memory();
  const long long after = coracle::testing::live_allocations();
  CHECK(thrown);
  CHECK(after == before);
}
#endif

#if __cpp_lib_optional >= 202506L  // C++26: optional<T&>
TEST_CASE("optional coroutine: an optional<T&> gives the reference, an lvalue or not, and may be returned") {
  const auto refer = [](int& to) { return std::optional<int&>(to); };
  const auto set = [&](int& to) -> std::optional<int&> {
    co_await refer(to) += 1;
    const std::optional<int&> named = refer(to);
    int& same = co_await named;
    same += 2;
    co_return same;
  };
  int number = 0;
  const std::optional<int&> result = set(number);
  REQUIRE(result);
  CHECK(&*result == &number);
  CHECK(number == 3);
}
#endif
}  // namespace
