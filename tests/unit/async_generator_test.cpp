// tests/unit/async_generator_test.cpp -- sequences whose bodies await.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
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
using coracle_test::async_sources::ints;

// The outer blocks here declare no variables: g++ 12 does not run some coroutines of that form.
task<> by_next(async_generator<int>& source, ints& seen) {
  while (int* element = co_await source.next()) seen.push_back(*element);
}
task<> by_next_in_for(async_generator<int>& source, ints& seen) {
  for (auto* element = co_await source.next(); element; element = co_await source.next()) {
    seen.push_back(*element);
  }
}
task<> by_iterator(async_generator<int>& source, ints& seen) {
  for (auto it = co_await source.begin(); it != source.end(); co_await ++it) seen.push_back(*it);
}
task<> by_next_with_jumps(async_generator<int>& source, ints& seen) {
  while (const int* element = co_await source.next()) {
    if (*element == 1) continue;
    if (*element == 4) break;
    co_await std::suspend_never{};
    seen.push_back(*element);
  }
}
task<> by_if(async_generator<int>& source, ints& seen) {
  if (const int* element = co_await source.next()) seen.push_back(*element);
}
async_generator<int> passed_on(async_generator<int>& source) {
  while (int* element = co_await source.next()) co_yield *element;
}

TEST_CASE("async_generator: each form of the loop sees each element once, in order") {
  const auto seen_by = [](auto loop) {
    ints seen;
    auto source = counting(0, 6);
    sync_wait(loop(source, seen));
    return seen;
  };
  CHECK(seen_by(by_next) == ints{0, 1, 2, 3, 4, 5});
  CHECK(seen_by(by_next_in_for) == ints{0, 1, 2, 3, 4, 5});
  CHECK(seen_by(by_iterator) == ints{0, 1, 2, 3, 4, 5});
  CHECK(seen_by(by_next_with_jumps) == ints{0, 2, 3});
  CHECK(seen_by(by_if) == ints{0});
  auto source = counting(0, 3);
  CHECK(all(passed_on(source)) == ints{0, 1, 2});
}

async_generator<int> lengths(async_generator<std::string> lines) {
  while (const std::string* line = co_await lines.next()) co_yield static_cast<int>(line->size());
}
async_generator<std::string> lines() {
  co_yield "one";
  co_yield "three";
}
TEST_CASE("async_generator: one made of another, as its header shows") {
  CHECK(all(lengths(lines())) == ints{3, 5});
}

TEST_CASE("async_generator: an iterator walks as a pointer does, each step awaited") {
  auto walk = []() -> task<> {
    auto source = lines();
    auto it = co_await source.begin();
    CHECK(it != source.end());
    CHECK(*it == "one");
    CHECK(it->size() == 3);
    CHECK(*co_await ++it == "three");
    auto copy = it;
    CHECK(co_await ++it == source.end());
    CHECK(copy == source.end());
  };
  sync_wait(walk());
}

TEST_CASE("async_generator: begin() and next() go on where the other left off") {
  auto walk = []() -> task<ints> {
    ints seen;
    auto source = counting(0, 4);
    seen.push_back(*co_await source.next());
    auto it = co_await source.begin();
    seen.push_back(*it);
    co_await ++it;
    seen.push_back(*it);
    while (int* element = co_await source.next()) seen.push_back(*element);
    CHECK(it == source.end());
    co_return seen;
  };
  CHECK(sync_wait(walk()) == ints{0, 1, 2, 3});
}

TEST_CASE("async_generator: empty, moved from or at its end it is an empty sequence, without suspending") {
  auto walk = []() -> task<> {
    async_generator<int> empty, source = counting(0, 1);
    async_generator<int> target = std::move(source);
    CHECK(empty.next().await_ready());
    CHECK(co_await empty.next() == nullptr);
    auto at_end = co_await source.begin();  // NOLINT: what a moved-from one does
    CHECK(at_end == source.end());
    CHECK(*co_await target.next() == 0);
    CHECK(co_await target.next() == nullptr);
    CHECK(target.next().await_ready());
    CHECK(co_await target.next() == nullptr);
    auto after = co_await target.begin();
    CHECK(after == target.end());
    co_await ++after;
    CHECK(after == target.end());
  };
  sync_wait(walk());
}

TEST_CASE("async_generator: runs nothing before it is awaited, and no further than the next element") {
  int reached = 0;
  auto steps = [](int& at) -> async_generator<int> {
    at = 1;
    co_yield 10;
    at = 2;
    co_yield 20;
    at = 3;
  };
  auto walk = [&]() -> task<> {
    auto source = steps(reached);
    auto begun = source.begin();
    CHECK(reached == 0);
    auto it = co_await begun;
    CHECK(reached == 1);
    auto step = ++it;
    CHECK(reached == 1);
    co_await step;
    CHECK(reached == 2);
    co_await ++it;
    CHECK(reached == 3);
  };
  sync_wait(walk());
}

TEST_CASE("async_generator: shows lvalues and temporaries where they stand, to be changed or moved") {
  lifetimes log;
  auto two = [](lifetimes& into) -> async_generator<lifetime_probe> {
    lifetime_probe named(into, 1);
    co_yield named;
    CHECK(named.moved_from());
    co_yield lifetime_probe(into, 2);
  };
  auto walk = [&]() -> task<> {
    auto source = two(log);
    while (lifetime_probe* probe = co_await source.next()) {
      const lifetime_probe taken(std::move(*probe));
      CHECK(log.destroyed.size() == static_cast<std::size_t>(taken.id() - 1));
    }
  };
  sync_wait(walk());
  CHECK(log.copies == 0);
  CHECK(log.moves == 2);
  CHECK(log.alive == 0);
  CHECK(log.destroyed == ints{1, 2});
}

TEST_CASE("async_generator: a copy that throws is thrown at the co_yield") {
  lifetimes log;
  log.copies_until_throw = 0;
  auto body = [](const lifetime_probe& from) -> async_generator<lifetime_probe> {
    bool caught = false;
    try {
      co_yield from;
    } catch (const coracle::testing::copy_failed&) {
      caught = true;
    }
    lifetime_probe other(std::move(const_cast<lifetime_probe&>(from)));
    if (caught) co_yield other;
  };
  lifetime_probe original(log, 1);
  auto walk = [&]() -> task<int> {
    auto source = body(original);
    co_return (co_await source.next())->id();
  };
  CHECK(sync_wait(walk()) == 1);
}

TEST_CASE("async_generator: of references, const and move-only elements") {
  int object = 1;
  auto refer = [](int& to) -> async_generator<int&> { co_yield to; };
  auto refer_const = [](const int& to) -> async_generator<const int&> {
    co_yield to;
    co_yield 2;
  };
  auto constant = [](const int& to) -> async_generator<const int> {
    co_yield to;
    co_yield 3;
  };
  auto owners = []() -> async_generator<std::unique_ptr<int>> {
    co_yield std::make_unique<int>(4);
    auto named = std::make_unique<int>(5);
    co_yield named;
    CHECK(named == nullptr);
  };
  auto rvalues = []() -> async_generator<std::string&&> { co_yield std::string("moved"); };
  auto walk = [&]() -> task<int> {
    auto references = refer(object);
    CHECK(co_await references.next() == &object);
    auto const_references = refer_const(object);
    CHECK(co_await const_references.next() == &object);
    int sum = 0;
    auto unique = owners();
    while (auto* owner = co_await unique.next()) sum += *std::unique_ptr<int>(std::move(*owner));
    auto texts = rvalues();
    auto it = co_await texts.begin();
    CHECK(std::string(*it) == "moved");
    CHECK(it->empty());
    co_return sum;
  };
  CHECK(sync_wait(walk()) == 9);
  CHECK(all(refer_const(object)) == ints{1, 2});
  CHECK(all(constant(object)) == ints{1, 3});
}

template <class T>
using iterator_of = typename async_generator<T>::iterator;
template <class T>
using next_of = coracle::await_result_t<decltype(std::declval<async_generator<T>&>().next())>;
template <class T>
using reference_of = decltype(*std::declval<iterator_of<T>&>());
static_assert(std::is_same_v<next_of<int>, int*> && std::is_same_v<reference_of<int>, int&>);
static_assert(std::is_same_v<next_of<const int>, const int*> &&
              std::is_same_v<reference_of<const int>, const int&>);
static_assert(std::is_same_v<next_of<int&>, int*> && std::is_same_v<reference_of<int&>, int&>);
static_assert(std::is_same_v<next_of<int&&>, int*> && std::is_same_v<reference_of<int&&>, int&&>);
static_assert(std::is_same_v<coracle::await_result_t<decltype(++std::declval<iterator_of<int>&>())>,
                             iterator_of<int>&>);
static_assert(sizeof(async_generator<int>) == sizeof(void*) && sizeof(iterator_of<int>) == sizeof(void*));
static_assert(!std::is_copy_constructible_v<async_generator<int>> &&
              std::is_nothrow_move_constructible_v<async_generator<int>> &&
              std::is_nothrow_move_assignable_v<async_generator<int>>);

TEST_CASE("async_generator: body and consumer each wait for something of their own") {
  async_manual_reset_event for_first, for_second, for_consumer, for_end;
  ints seen;
  bool finished = false;
  auto produce = [&]() -> async_generator<int> {
    co_await for_first;
    co_yield 1;
    co_await for_second;
    co_yield 2;
    co_await for_end;
  };
  auto consume = [&]() -> detached {
    auto source = produce();
    seen.push_back(*co_await source.next());
    seen.push_back(*co_await source.next());
    co_await for_consumer;
    CHECK(co_await source.next() == nullptr);
    finished = true;
  };
  consume();
  CHECK(seen.empty());
  for_first.set();
  CHECK(seen == ints{1});
  for_second.set();
  CHECK(seen == ints{1, 2});
  for_consumer.set();
  CHECK_FALSE(finished);
  for_end.set();
  CHECK(finished);
}

TEST_CASE("async_generator: its body awaits tasks, and other generators") {
  auto twice = [](int x) -> task<int> { co_return 2 * x; };
  auto pairs = [&]() -> async_generator<int> {
    for (int i = 0; i != 3; ++i) {
      auto inner = counting(0, i);
      while (int* element = co_await inner.next()) co_yield co_await twice(*element + 10 * i);
    }
  };
  CHECK(all(pairs()) == ints{20, 40, 42});
}

TEST_CASE("async_generator: the consumer goes on where the body yielded, the body where it is asked") {
  coracle::run_loop loop;
  coracle::static_thread_pool pool{1};
  std::vector<std::pair<coracle::executor*, coracle::executor*>> places;
  auto produce = [&]() -> async_generator<coracle::executor*> {
    for (int i = 0; i != 2; ++i) {
      coracle::executor* const asked_on = coracle::current_executor();
      co_await pool.schedule();
      co_yield asked_on;
    }
  };
  auto consume = [&]() -> detached {
    auto source = produce();
    co_await loop.schedule();
    while (auto* asked_on = co_await source.next()) {
      places.emplace_back(*asked_on, coracle::current_executor());
      co_await loop.schedule();
    }
    loop.stop();
  };
  consume();
  loop.run();
  REQUIRE(places.size() == 2);
  for (auto [asked_on, shown_on] : places) {
    CHECK(asked_on == &loop);
    CHECK(shown_on != &loop);
    CHECK(shown_on != nullptr);
  }
}

TEST_CASE("async_generator: under the inline scheduler, and on a thread of its own") {
  coracle::inline_scheduler place;
  auto produce = [&]() -> async_generator<int> {
    co_await place.schedule();
    co_yield 1;
  };
  ints seen;
  std::thread([&] { seen = all(produce()); }).join();
  CHECK(seen == ints{1});
}

TEST_CASE("async_generator: each element may be awaited by another coroutine, on another thread") {
  auto source = counting(0, 3);
  auto one = [&]() -> task<int> { co_return *co_await source.next(); };
  CHECK(sync_wait(one()) == 0);
  int second = 0;
  std::thread([&] { second = sync_wait(one()); }).join();
  CHECK(second == 1);
  CHECK(sync_wait(one()) == 2);
}

TEST_CASE("async_generator: the body inherits the environment of whoever awaits the element") {
  const coracle::task_local<int> local{0};
  std::stop_source source_of_stop;
  auto produce = [&]() -> async_generator<int> {
    for (;;) {
      const bool stoppable = (co_await coracle::this_task::stop_token()).stop_possible();
      co_yield co_await local.value() + (stoppable ? 100 : 0);
    }
  };
  auto source = produce();
  auto by_next_await = [&]() -> task<int> { co_return *co_await source.next(); };
  auto by_begin = [&]() -> task<int> {
    auto it = co_await source.begin();
    co_return *it;
  };
  auto by_increment = [&]() -> task<int> {
    auto it = co_await source.begin();
    auto bound = [](auto& position) -> task<> { co_await ++position; };
    co_await coracle::with_value(bound(it), local, 9);
    co_return *it;
  };
  CHECK(sync_wait(coracle::with_value(by_next_await(), local, 7)) == 7);
  CHECK(sync_wait(coracle::with_stop(by_begin(), source_of_stop.get_token())) == 100);
  CHECK(sync_wait(by_increment()) == 9);
  CHECK(sync_wait(by_next_await()) == 0);
}
}  // namespace
