// tests/unit/async_generator_test.cpp -- sequences whose bodies await.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/fmap.hpp>
#include <coracle/core/async_generator.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/run_on_stack.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::async_generator;
using coracle::async_manual_reset_event;
using coracle::sync_wait;
using coracle::task;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::detached;
using ints = std::vector<int>;

async_generator<int> counting(int from, int to) {
  for (int i = from; i != to; ++i) co_yield i;
}
template <class T>
task<ints> collect(async_generator<T> source) {
  ints seen;
  while (auto* element = co_await source.next()) seen.push_back(static_cast<int>(*element));
  co_return seen;
}
template <class T>
ints all(async_generator<T> source) {
  return sync_wait(collect(std::move(source)));
}

// ---- the forms of the loop -----------------------------------------------------------------------------

// No outer block here declares a variable: g++ 12 does not run some such coroutines.
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

// ---- elements ------------------------------------------------------------------------------------------

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

// ---- waiting -------------------------------------------------------------------------------------------

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

// ---- exceptions ----------------------------------------------------------------------------------------

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

// ---- lifetimes -----------------------------------------------------------------------------------------

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
        }) == "coracle: the end of an async_generator was dereferenced\n");
}

// ---- stack and memory ----------------------------------------------------------------------------------

TEST_CASE("async_generator: a million elements that need no waiting take a small stack") {
  long sum = 0;
  auto add_up = [](long& into) -> task<> {
    auto source = counting(0, 1'000'000);
    while (int* element = co_await source.next()) into += *element;
  };
  CHECK(coracle_test::run_on_stack(128 * 1024, [&] { sync_wait(add_up(sum)); }));
  CHECK(sum == 499'999'500'000);
}

TEST_CASE("async_generator: in a chain of a hundred, each element passes through all on a small stack") {
  auto add_one = [](int x) { return x + 1; };
  ints seen;
  CHECK(coracle_test::run_on_stack(128 * 1024, [&] {
    async_generator<int> source = counting(0, 3);
    for (int i = 0; i != 100; ++i) source = coracle::fmap(add_one, std::move(source));
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

// ---- fmap ----------------------------------------------------------------------------------------------

TEST_CASE("fmap: of an async_generator gives what a function makes of each element") {
  auto square = [](int x) { return x * x; };
  CHECK(all(coracle::fmap(square, counting(0, 5))) == ints{0, 1, 4, 9, 16});
  CHECK(all(counting(0, 3) | coracle::fmap(square)) == ints{0, 1, 4});
  auto name = [](int x) { return std::to_string(x); };
  auto walk = [&]() -> task<std::string> {
    std::string joined;
    auto names = coracle::fmap(name, counting(8, 11));
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
  CHECK(all(coracle::fmap(&point::x, points(first))) == ints{1, 2});
  auto walk = [&]() -> task<> {
    auto members = coracle::fmap(&point::x, points(first));
    static_assert(std::is_same_v<decltype(members), async_generator<int&>>);
    CHECK(co_await members.next() == &first.x);
  };
  sync_wait(walk());
  auto texts = []() -> async_generator<std::string&&> { co_yield std::string("moved"); };
  auto size_of = [](std::string&& text) { return std::string(std::move(text)).size(); };
  CHECK(all(coracle::fmap(size_of, texts())) == ints{5});
  auto add = [owned = std::make_unique<int>(10)](int x) { return x + *owned; };
  CHECK(all(coracle::fmap(std::move(add), counting(0, 2))) == ints{10, 11});
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
    auto source = coracle::fmap(negate, produce());
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
