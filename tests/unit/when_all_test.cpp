// tests/unit/when_all_test.cpp -- several awaitables at the same time.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <list>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/faster_thread.hpp"
#include "child_tasks.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::task;
using coracle_test::after;
using coracle_test::detached;
using coracle_test::fail;
using coracle_test::give;
using coracle_test::message_of;
using coracle_test::nothing;

TEST_CASE("when_all: gives a tuple of values, references, move-only values and void_value") {
  std::string text = "text";
  const auto work = [&]() -> task<> {
    auto results = co_await coracle::when_all(give(1), nothing(), give<std::string&>(text),
                                              give(std::make_unique<int>(2)), give<const std::string&>(text));
    static_assert(
        std::is_same_v<decltype(results),
                       std::tuple<int, coracle::void_value, std::reference_wrapper<std::string>,
                                  std::unique_ptr<int>, std::reference_wrapper<const std::string>>>);
    CHECK(std::get<0>(results) == 1);
    CHECK(&std::get<2>(results).get() == &text);
    CHECK(*std::get<3>(results) == 2);
    CHECK(&std::get<4>(results).get() == &text);
  };
  coracle::sync_wait(work());
}

TEST_CASE("when_all: a single awaitable gives a tuple of one") {
  CHECK(std::get<0>(coracle::sync_wait(coracle::when_all(give(7)))) == 7);
}

TEST_CASE("when_all: a vector of tasks gives a vector of results in the same order") {
  std::vector<task<int>> tasks;
  for (int i = 0; i != 100; ++i) tasks.push_back(give(i));
  const std::vector<int> results = coracle::sync_wait(coracle::when_all(std::move(tasks)));
  REQUIRE(results.size() == 100);
  for (int i = 0; i != 100; ++i) CHECK(results[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("when_all: ranges of references and of move-only results") {
  std::string a = "a", b = "b";
  std::vector<task<std::string&>> references;
  references.push_back(give<std::string&>(a));
  references.push_back(give<std::string&>(b));
  const auto found = coracle::sync_wait(coracle::when_all(std::move(references)));
  static_assert(std::is_same_v<decltype(found), const std::vector<std::reference_wrapper<std::string>>>);
  REQUIRE(found.size() == 2);
  CHECK(&found[0].get() == &a);
  CHECK(&found[1].get() == &b);

  std::vector<task<std::unique_ptr<int>>> owners;
  owners.push_back(give(std::make_unique<int>(3)));
  const auto owned = coracle::sync_wait(coracle::when_all(std::move(owners)));
  REQUIRE(owned.size() == 1);
  CHECK(*owned[0] == 3);
}

TEST_CASE("when_all: a range of tasks without results gives nothing and runs them all") {
  int ran = 0;
  const auto count = [&]() -> task<> {
    ++ran;
    co_return;
  };
  std::vector<task<>> tasks;
  for (int i = 0; i != 5; ++i) tasks.push_back(count());
  auto all = coracle::when_all(std::move(tasks));
  static_assert(std::is_void_v<coracle::await_result_t<decltype(all)>>);
  CHECK(ran == 0);
  coracle::sync_wait(std::move(all));
  CHECK(ran == 5);
}

TEST_CASE("when_all: an empty range completes at once") {
  CHECK(coracle::sync_wait(coracle::when_all(std::vector<task<int>>{})).empty());
  CHECK(coracle::sync_wait(coracle::when_all_ready(std::vector<task<int>>{})).empty());
  bool done = false;
  const auto work = [&]() -> detached {
    co_await coracle::when_all(std::vector<task<>>{});
    done = true;
  };
  work();
  CHECK(done);
}

TEST_CASE("when_all: any range of awaitables will do") {
  std::list<task<int>> tasks;
  tasks.push_back(give(1));
  tasks.push_back(give(2));
  CHECK(coracle::sync_wait(coracle::when_all(std::move(tasks))) == std::vector{1, 2});
  std::array<task<int>, 2> fixed{give(3), give(4)};
  CHECK(coracle::sync_wait(coracle::when_all(std::move(fixed))) == std::vector{3, 4});
}

TEST_CASE("when_all: awaits named tasks that are moved in, and awaitables that are no tasks") {
  async_manual_reset_event event;
  coracle::async_auto_reset_event other;
  bool done = false;
  const auto work = [&]() -> detached {
    task<int> named = give(5);
    auto results = co_await coracle::when_all(event, std::move(named), other, std::suspend_never{});
    static_assert(
        std::is_same_v<decltype(results),
                       std::tuple<coracle::void_value, int, coracle::void_value, coracle::void_value>>);
    CHECK(std::get<1>(results) == 5);
    done = true;
  };
  work();
  other.set();
  CHECK_FALSE(done);
  event.set();
  CHECK(done);
}

TEST_CASE("when_all: starts the children one after the other, each until it first suspends") {
  std::vector<std::string> log;
  async_manual_reset_event event;
  const auto child = [&](std::string name) -> task<> {
    log.push_back(name + " starts");
    co_await event;
    log.push_back(name + " ends");
  };
  const auto work = [&]() -> detached {
    co_await coracle::when_all(child("a"), child("b"), nothing());
    log.emplace_back("joined");
  };
  work();
  CHECK(log == std::vector<std::string>{"a starts", "b starts"});
  event.set();
  CHECK(log == std::vector<std::string>{"a starts", "b starts", "a ends", "b ends", "joined"});
}

TEST_CASE("when_all: continues when the last child has ended, in whatever order they end") {
  std::array<int, 3> order{0, 1, 2};
  do {
    std::array<async_manual_reset_event, 3> events;
    std::vector<int> results;
    const auto work = [&]() -> detached {
      const auto [a, b, c] =
          co_await coracle::when_all(after(events[0], 10), after(events[1], 20), after(events[2], 30));
      results = {a, b, c};
    };
    work();
    for (const int next : order) {
      CHECK(results.empty());
      events[static_cast<std::size_t>(next)].set();
    }
    CHECK(results == std::vector{10, 20, 30});
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("when_all: nests") {
  async_manual_reset_event event;
  int sum = 0;
  const auto pair = [&](int n) -> task<int> {
    const auto [a, b] = co_await coracle::when_all(after(event, n), give(n + 1));
    co_return a + b;
  };
  const auto work = [&]() -> detached {
    const auto [a, b] = co_await coracle::when_all(pair(1), coracle::when_all(pair(10), pair(100)));
    sum = a + std::get<0>(b) + std::get<1>(b);
  };
  work();
  CHECK(sum == 0);
  event.set();
  CHECK(sum == 3 + 21 + 201);
}

TEST_CASE("when_all_ready: gives an outcome for each child and does not throw") {
  std::string text = "text";
  const auto work = [&]() -> task<> {
    auto [value, error, none, reference, owner] = co_await coracle::when_all_ready(
        give(1), fail("wrong"), nothing(), give<std::string&>(text), give(std::make_unique<int>(2)));
    CHECK(value.has_value());
    CHECK(std::move(value).get() == 1);
    CHECK(error.has_error());
    CHECK_FALSE(error.has_value());
    CHECK(message_of(error.error()) == "wrong");
    CHECK(none.has_value());
    CHECK(&std::move(reference).get() == &text);
    CHECK(*std::move(owner).get() == 2);
  };
  coracle::sync_wait(work());
}

TEST_CASE("when_all_ready: a range gives a vector of outcomes, once the last child has ended") {
  async_manual_reset_event event;
  std::vector<task<int>> tasks;
  tasks.push_back(after(event, 1));
  tasks.push_back(fail("second"));
  tasks.push_back(give(3));
  std::string seen;
  const auto work = [&]() -> detached {
    auto all = coracle::when_all_ready(std::move(tasks));
    auto ends = co_await std::move(all);
    for (auto& end : ends)
      seen += end.has_value() ? std::to_string(std::move(end).get()) : message_of(end.error());
  };
  work();
  CHECK(seen.empty());
  event.set();
  CHECK(seen == "1second3");
}

TEST_CASE("when_all: children inherit the awaiter's environment, tasks and awaitables below them alike") {
  const coracle::stop_source source;
  const coracle::task_local<int> number{0};
  int inherited = 0;
  const auto child = [&]() -> task<> {
    const auto token = co_await coracle::this_task::stop_token();
    inherited += token.stop_possible() ? co_await number.value() : 0;
  };
  const auto parent = [&]() -> task<> {
    std::vector<task<>> more;
    more.push_back(child());
    co_await coracle::when_all(child(), coracle::when_all(child()), coracle::when_all(std::move(more)));
  };
  coracle::sync_wait(coracle::with_stop(coracle::with_value(parent(), number, 7), source.get_token()));
  CHECK(inherited == 3 * 7);
}

TEST_CASE("when_all: destroyed before it was awaited it starts nothing and frees its children") {
  const auto owner = std::make_shared<int>(1);
  bool started = false;
  const auto child = [&started](std::shared_ptr<int> kept) -> task<int> {
    started = true;
    co_return *kept;
  };
  {
    const auto all = coracle::when_all(child(owner), child(owner));
    static_cast<void>(all);
    CHECK(owner.use_count() == 3);
  }
  CHECK_FALSE(started);
  CHECK(owner.use_count() == 1);
}

TEST_CASE("when_all: the variadic form allocates one stop source, when_all_ready nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_manual_reset_event event;
  std::size_t counts[4] = {};
  const auto work = [&]() -> detached {
    coracle::trim_frame_memory();
    counts[0] = coracle::testing::allocations();
    co_await coracle::when_all(event, event);
    counts[1] = coracle::testing::allocations();
    event.reset();
    counts[2] = coracle::testing::allocations();
    co_await coracle::when_all_ready(event, coracle::when_all_ready(event, event));
    counts[3] = coracle::testing::allocations();
  };
  work();
  event.set();
  event.set();
  CHECK(counts[1] - counts[0] == 1);
  CHECK(counts[3] - counts[2] == 0);
}

TEST_CASE(
    "when_all: a vector of tasks costs one allocation for the results, if there are any; the stop source is "
    "recycled" *
    doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_manual_reset_event go;
  std::vector<task<>> voids;
  std::vector<task<int>> values;
  for (int i = 0; i != 10; ++i) {
    voids.push_back(nothing());
    values.push_back(give(i));
  }
  std::size_t counts[3] = {};
  const auto work = [&]() -> detached {
    co_await go;
    counts[0] = coracle::testing::allocations();
    co_await coracle::when_all(std::move(voids));
    counts[1] = coracle::testing::allocations();
    const auto results = co_await coracle::when_all(std::move(values));
    counts[2] = coracle::testing::allocations();
  };
  work();
  go.set();
  CHECK(counts[1] - counts[0] == 0);
  CHECK(counts[2] - counts[1] == 1);
}
TEST_CASE("when_all: another range costs one allocation for the children" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_manual_reset_event go;
  std::array<task<>, 2> tasks = {nothing(), nothing()};
  std::size_t counts[2] = {};
  const auto work = [&]() -> detached {
    co_await go;
    counts[0] = coracle::testing::allocations();
    co_await coracle::when_all(std::move(tasks));
    counts[1] = coracle::testing::allocations();
  };
  work();
  go.set();
  CHECK(counts[1] - counts[0] == 1);
}
TEST_CASE("when_all: children that do not wait need no stop source, however deep they are" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  std::size_t made = 9;
  const auto work = [&]() -> detached {
    auto first = nothing(), second = nothing(), third = nothing();
    const auto inner = [&]() -> task<> { co_await coracle::when_all(std::move(second), std::move(third)); };
    auto both = inner();
    coracle::trim_frame_memory();
    const auto before = coracle::testing::allocations();
    co_await coracle::when_all(std::move(first), std::move(both));
    made = coracle::testing::allocations() - before;
  };
  work();
  CHECK(made == 0);
}
TEST_CASE(
    "when_all: where there is no memory for the stop source of one that waits, the rest is stopped, and it "
    "throws" *
    doctest::skip(!coracle::testing::allocations_are_counted)) {
  int threw = 0;
  const int failed = coracle::testing::fail_each_allocation([&] {
    async_manual_reset_event go;
    const auto work = [&]() -> detached {
      try {
        co_await coracle::when_all(nothing(), go, go);
      } catch (const std::bad_alloc&) {
        ++threw;
      }
    };
    try {
      work();
    } catch (const std::bad_alloc&) {
    }
    go.set();
  });
  CHECK(failed == 3);  // two frames, and the source
  CHECK(threw == 2);   // not for the frame that catches
}

TEST_CASE("when_all: an empty range completes at once on a pool, too") {
  coracle::static_thread_pool pool{1};
  CHECK(coracle::sync_wait(coracle::schedule_on(coracle::when_all(std::vector<task<int>>{}), pool)).empty());
}

TEST_CASE("when_all: on a pool, a child that ends on another thread before the next is started") {
  coracle_test::faster_thread elsewhere;
  coracle::static_thread_pool pool{1};
  const auto hop = [&](int value) -> task<int> {
    co_await elsewhere.schedule();
    co_return value;
  };
  const auto work = [&]() -> task<int> {
    const auto [a, b, c] = co_await coracle::when_all(hop(1), hop(2), give(4));
    co_return a + b + c;
  };
  CHECK(coracle::sync_wait(coracle::schedule_on(work(), pool)) == 7);
}

TEST_CASE("when_all: awaited twice ends a checked program and says so" * doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] {
          async_manual_reset_event ready{true};
          const auto await_twice = [&]() -> task<> {
            auto both = coracle::when_all(ready, ready);
            co_await std::move(both);
            co_await std::move(both);
          };
          sync_wait(await_twice());
        }) == "coracle: a when_all was awaited twice: make a new one for each await\n");
}
}  // namespace
