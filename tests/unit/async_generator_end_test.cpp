// tests/unit/async_generator_end_test.cpp -- exceptions, the end, memory, and fmap.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/fmap.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/many.hpp"
#include "../support/run_on_stack.hpp"
#include "../support/test_coroutine.hpp"
#include "async_sources.hpp"

namespace {
using coracle::async_generator;
using coracle::async_manual_reset_event;
using coracle::sync_wait;
using coracle::task;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::detached;
using coracle_test::async_sources::all;
using coracle_test::async_sources::counting;
using coracle_test::async_sources::elements;
using coracle_test::async_sources::ints;

TEST_CASE("async_generator: shows a const lvalue as a copy, made once, destroyed before the body goes on") {
  lifetimes log;
  auto body = [](const lifetime_probe& from, lifetimes& l) -> async_generator<lifetime_probe> {
    co_yield from;
    CHECK(l.alive == 1);
  };
  const lifetime_probe original(log, 1);
  auto walk = [&]() -> task<> {
    auto source = body(original, log);
    lifetime_probe* const shown = co_await source.next();
    CHECK(shown != &original);
    CHECK(log.alive == 2);
    CHECK(co_await source.next() == nullptr);
  };
  sync_wait(walk());
  CHECK(log.copies == 1);
  CHECK(log.moves == 0);
}

async_generator<int> fail_after(int elements) {
  for (int i = 0; i != elements; ++i) co_yield i;
  throw std::runtime_error("enough");
}

TEST_CASE("async_generator: an exception leaves the await of begin, ++ or next once, then it is at the end") {
  auto walk = []() -> task<> {
    auto first = fail_after(0);
    CHECK_THROWS_AS(co_await first.begin(), std::runtime_error);
    auto at_end = co_await first.begin();
    CHECK(at_end == first.end());

    auto second = fail_after(1);
    auto it = co_await second.begin();
    CHECK(*it == 0);
    CHECK_THROWS_AS(co_await ++it, std::runtime_error);
    CHECK(it == second.end());

    auto third = fail_after(1);
    CHECK(*co_await third.next() == 0);
    CHECK_THROWS_AS(co_await third.next(), std::runtime_error);
    CHECK(co_await third.next() == nullptr);
  };
  sync_wait(walk());
}

TEST_CASE("async_generator: an exception passes through a generator made of another, after the locals") {
  lifetimes log;
  auto outer = [](lifetimes& l) -> async_generator<int> {
    const lifetime_probe local(l, 1);
    auto inner = fail_after(2);
    while (int* element = co_await inner.next()) co_yield *element;
  };
  ints seen;
  auto walk = [&]() -> task<> {
    auto source = outer(log);
    while (int* element = co_await source.next()) seen.push_back(*element);
  };
  CHECK_THROWS_AS(sync_wait(walk()), std::runtime_error);
  CHECK(seen == ints{0, 1});
  CHECK(log.alive == 0);
}

TEST_CASE("async_generator: the exception object dies when its handler is left, not with the generator") {
  struct noisy {
    explicit noisy(int& count) : alive(count) { ++alive; }
    noisy(const noisy& other) : alive(other.alive) { ++alive; }
    ~noisy() { --alive; }
    int& alive;
  };
  int alive = 0;
  auto body = [](int& count) -> async_generator<int> {
    co_yield 1;
    throw noisy(count);
  };
  auto walk = [&]() -> task<> {
    auto source = body(alive);
    CHECK(*co_await source.next() == 1);
    bool caught = false;
    try {
      co_await source.next();
    } catch (const noisy&) {
      caught = true;
    }
    CHECK(caught);
    CHECK(alive == 0);
  };
  sync_wait(walk());
}

TEST_CASE("async_generator: destroyed unstarted, at a co_yield, while it waits or at its end, it cleans up") {
  lifetimes log;
  auto body = [](lifetimes& l, lifetime_probe, bool waits) -> async_generator<int> {
    const lifetime_probe local(l, 2);
    if (waits) co_await std::suspend_always{};
    co_yield 1;
  };
  {
    const auto unstarted = body(log, lifetime_probe(log, 1), false);
  }
  CHECK(log.alive == 0);
  auto take = [&](int elements, bool waits) -> coracle_test::test_coroutine {
    auto source = body(log, lifetime_probe(log, 1), waits);
    for (int i = 0; i != elements; ++i) co_await source.next();
    co_await std::suspend_always{};
  };
  for (int elements = 0; elements != 4; ++elements) {
    auto consumer = take(elements, false);
    consumer.resume();
    CHECK(log.alive == (elements == 1 ? 2 : 1));
    consumer.destroy();
    CHECK(log.alive == 0);
  }
  auto waiting = take(1, true);
  waiting.resume();
  CHECK(log.alive == 2);
  waiting.destroy();
  CHECK(log.alive == 0);
}

TEST_CASE("async_generator: assignment destroys the body that was there; swap exchanges two") {
  lifetimes log;
  auto body = [](lifetimes& l, int id) -> async_generator<int> {
    const lifetime_probe local(l, id);
    co_yield id;
    co_yield id;
  };
  auto walk = [&]() -> task<> {
    auto first = body(log, 1), second = body(log, 2);
    CHECK(*co_await first.next() == 1);
    swap(first, second);
    CHECK(*co_await first.next() == 2);
    first = std::move(second);
    CHECK(log.destroyed == ints{2});
    CHECK(*co_await first.next() == 1);
  };
  sync_wait(walk());
  CHECK(log.alive == 0);
}

TEST_CASE("async_generator: dereferencing the end ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] {
          const async_generator<int> empty;
          static_cast<void>(*empty.end());
        }) ==
        "coracle: the end of an async_generator was dereferenced: compare the iterator with end() first\n");
}

TEST_CASE("async_generator: a second next() while the first one waits ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] {
          coracle::async_manual_reset_event event;
          const auto slow = [&]() -> async_generator<int> {
            co_await event;
            co_yield 1;
          };
          async_generator<int> source = slow();
          sync_wait(coracle::when_all(source.next(), source.next()));
        }) ==
        "coracle: concurrent awaits of an async_generator's next element: it has one consumer at a time\n");
}

TEST_CASE("async_generator: a million elements that need no waiting take a small stack") {
  constexpr int count = coracle_test::many(1'000'000);
  long sum = 0;
  auto add_up = [](long& into) -> task<> {
    auto source = counting(0, count);
    while (int* element = co_await source.next()) into += *element;
  };
  CHECK(coracle_test::run_on_stack(128 * 1024, [&] { sync_wait(add_up(sum)); }));
  CHECK(sum == long{count} * (count - 1) / 2);
}

TEST_CASE("async_generator: in a chain of a hundred, each element passes through all on a small stack") {
  auto add_one = [](int x) { return x + 1; };
  ints seen;
  CHECK(coracle_test::run_on_stack(128 * 1024, [&] {
    async_generator<int> source = counting(0, 3);
    for (int i = 0; i != 100; ++i) source = coracle::fmap(std::move(source), add_one);
    seen = all(std::move(source));
  }));
  CHECK(seen == ints{100, 101, 102});
}

[[gnu::noinline]] async_generator<int> opaque_counting(int from, int to) {
  for (int i = from; i != to; ++i) co_yield i;
}
TEST_CASE("async_generator: an element allocates nothing; a frame is recycled" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  auto add_up = []() -> task<std::size_t> {
    std::size_t at_second = 0;
    for (int round = 0; round != 10; ++round) {
      if (round == 1) at_second = coracle::testing::allocations();
      auto source = opaque_counting(0, 100);
      while (co_await source.next()) continue;
    }
    co_return coracle::testing::allocations() - at_second;
  };
  CHECK(sync_wait(add_up()) == 0);
}

TEST_CASE("async_generator: where its frame cannot be allocated the call throws, and nothing leaks" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int caught = 0, finished = 0;
  auto walk = []() -> task<int> {
    auto source = opaque_counting(0, 3);
    int sum = 0;
    while (int* element = co_await source.next()) sum += *element;
    co_return sum;
  };
  const int failed = coracle::testing::fail_each_allocation([&] {
    try {
      finished += sync_wait(walk()) == 3;
    } catch (const std::bad_alloc&) {
      ++caught;
    }
  });
  CHECK(failed == caught);
  CHECK(failed >= 1);
  CHECK(finished == 1);
}

using bytes = coracle::testing::failing_allocator<std::byte>;
[[gnu::noinline]] async_generator<int> allocated(std::allocator_arg_t, bytes, int n) { co_yield n; }
struct maker {
  async_generator<int> make(std::allocator_arg_t, bytes, int n) { co_yield n; }
};
TEST_CASE("async_generator: takes its frame from the allocator that it is given, also as a member function") {
  coracle::testing::allocator_log log;
  maker one;
  CHECK(all(allocated(std::allocator_arg, bytes(log), 7)) == ints{7});
  CHECK(all(one.make(std::allocator_arg, bytes(log), 8)) == ints{8});
  CHECK(log.allocated == 2);
  CHECK(log.freed == 2);
  CHECK(log.bytes == 0);
}

TEST_CASE("fmap: of an async_generator gives what a function makes of each element") {
  auto square = [](int x) { return x * x; };
  CHECK(all(coracle::fmap(counting(0, 5), square)) == ints{0, 1, 4, 9, 16});
  CHECK(all(counting(0, 3) | coracle::fmap(square)) == ints{0, 1, 4});
  auto name = [](int x) { return std::to_string(x); };
  auto walk = [&]() -> task<std::string> {
    std::string joined;
    auto names = coracle::fmap(counting(8, 11), name);
    while (const std::string* each = co_await names.next()) joined += *each + ",";
    co_return joined;
  };
  CHECK(sync_wait(walk()) == "8,9,10,");
}

TEST_CASE("fmap: of an async_generator takes members, references and functions that own something") {
  struct point {
    int x;
  };
  auto points = [](point& first) -> async_generator<point> {
    co_yield first;
    co_yield point{2};
  };
  point first{1};
  CHECK(all(coracle::fmap(points(first), &point::x)) == ints{1, 2});
  auto walk = [&]() -> task<> {
    auto members = coracle::fmap(points(first), &point::x);
    static_assert(std::is_same_v<decltype(members), async_generator<int&>>);
    CHECK(co_await members.next() == &first.x);
  };
  sync_wait(walk());
  auto texts = []() -> async_generator<std::string&&> { co_yield std::string("moved"); };
  auto size_of = [](std::string&& text) { return std::string(std::move(text)).size(); };
  CHECK(all(coracle::fmap(texts(), size_of)) == ints{5});
  auto add = [owned = std::make_unique<int>(10)](int x) { return x + *owned; };
  CHECK(all(coracle::fmap(counting(0, 2), std::move(add))) == ints{10, 11});
}

TEST_CASE("fmap: of an async_generator waits with it, and passes its exception on") {
  async_manual_reset_event open;
  auto produce = [&]() -> async_generator<int> {
    co_await open;
    co_yield 1;
    throw std::runtime_error("after one");
  };
  ints seen;
  bool failed = false;
  auto negate = [](int x) { return -x; };
  auto consume = [&]() -> detached {
    auto source = coracle::fmap(produce(), negate);
    try {
      while (int* element = co_await source.next()) seen.push_back(*element);
    } catch (const std::runtime_error&) {
      failed = true;
    }
  };
  consume();
  CHECK(seen.empty());
  open.set();
  CHECK(seen == ints{-1});
  CHECK(failed);
}
}  // namespace
