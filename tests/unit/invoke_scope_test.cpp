// tests/unit/invoke_scope_test.cpp -- a function in a scope lives until what it returns has ended.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/invoke.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/manual_scheduler.hpp>
#include <coracle/testing/poll.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
using coracle::async_manual_reset_event;
using coracle::async_scope;
using coracle::sync_wait;
using coracle::task;
using coracle::testing::copy_failed;
using coracle::testing::fail_each_allocation;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle::testing::poll;

TEST_CASE("async_scope: a spawned lambda lives until its coroutine has ended, and no longer") {
  lifetimes log;
  async_manual_reset_event event;
  int seen = 0;
  async_scope scope;
  scope.spawn([probe = lifetime_probe{log, 7}, &event, &seen]() -> task<> {
    co_await event;
    seen = probe.id();
  });
  CHECK(log.alive == 1);
  event.set();
  CHECK(seen == 7);
  CHECK(log.alive == 0);
  CHECK(log.copies == 0);
  sync_wait(scope.join());
}
TEST_CASE("async_scope: a spawned function keeps its arguments, also on another scheduler") {
  lifetimes log;
  coracle::testing::manual_scheduler place;
  async_manual_reset_event event;
  std::vector<std::string> seen;
  const auto note = [&](const std::string& text, lifetime_probe) -> task<> {
    co_await event;
    seen.push_back(text);
  };
  async_scope scope;
  scope.spawn(note, std::string(50, 'a'), lifetime_probe{log});
  scope.spawn(place, note, std::string(50, 'b'), lifetime_probe{log});
  scope.spawn(place, [&, text = std::string(50, 'c')]() -> task<> {
    seen.push_back(text);
    co_return;
  });
  event.set();
  CHECK(seen == std::vector{std::string(50, 'a')});
  while (place.run_one()) {
  }
  CHECK(seen == std::vector{std::string(50, 'a'), std::string(50, 'b'), std::string(50, 'c')});
  CHECK(log.alive == 0);
  sync_wait(scope.join());
}
TEST_CASE("async_scope: spawn_future of a lambda, and of a function with arguments") {
  async_manual_reset_event event;
  async_scope scope;
  auto first = scope.spawn_future([text = std::string(50, 'a'), &event]() -> task<std::string> {
    co_await event;
    co_return text;
  });
  auto second =
      scope.spawn_future([](std::unique_ptr<int> n) -> task<std::unique_ptr<int>> { co_return std::move(n); },
                         std::make_unique<int>(4));
  event.set();
  CHECK(sync_wait(std::move(first)) == std::string(50, 'a'));
  CHECK(*sync_wait(std::move(second)) == 4);
  sync_wait(scope.join());
}
TEST_CASE("async_scope: where the copy of a function or an argument throws, nothing is spawned") {
  lifetimes log;
  int calls = 0;
  async_scope scope;
  {
    const lifetime_probe original{log};
    const auto named = [original, &calls]() -> task<> {
      ++calls;
      co_return;
    };
    const auto takes = [&calls](const lifetime_probe&) -> task<> {
      ++calls;
      co_return;
    };
    log.copies_until_throw = 0;
    CHECK_THROWS_AS(scope.spawn(named), copy_failed);
    CHECK_THROWS_AS(scope.spawn(takes, original), copy_failed);
    CHECK_THROWS_AS(static_cast<void>(scope.spawn_future(takes, original)), copy_failed);
    CHECK(log.alive == 2);
  }
  CHECK(calls == 0);
  sync_wait(scope.join());
}
TEST_CASE("async_scope: without memory for a spawned function nothing leaks" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  CHECK(fail_each_allocation([] {
          async_scope scope;
          bool failed = false;
          try {
            scope.spawn([](std::unique_ptr<int>) -> task<> { co_return; }, std::make_unique<int>(1));
          } catch (const std::bad_alloc&) {
            failed = true;
          }
          try {
            sync_wait(scope.join());
          } catch (const std::bad_alloc&) {
            CHECK(!failed);
          }
        }) >= 3);
}
TEST_CASE("async_scope: an exception of a spawned function, before it returns a task, is the child's") {
  async_scope scope;
  scope.spawn([]() -> task<> { throw std::runtime_error("no task"); });
  CHECK_THROWS_WITH_AS(sync_wait(scope.join()), "no task", std::runtime_error);
}
TEST_CASE("async_scope: a function takes no frame more than the task that it returns") {
  const auto count = [](auto spawn) {
    coracle::trim_frame_memory();
    async_scope scope;
    const std::size_t before = coracle::testing::allocations();
    spawn(scope);
    const std::size_t made = coracle::testing::allocations() - before;
    sync_wait(scope.join());
    return made;
  };
  const auto serve = [](int) -> task<> { co_return; };
  CHECK(count([&](async_scope& scope) { scope.spawn(serve, 1); }) ==
        count([&](async_scope& scope) { scope.spawn(serve(1)); }));
}

TEST_CASE("with_scope: keeps its body's arguments until the children have ended") {
  lifetimes log;
  async_manual_reset_event event;
  int seen = 0;
  const auto body = [&](async_scope& scope, const lifetime_probe& probe) -> task<int> {
    const auto look = [&]() -> task<> {
      co_await event;
      seen = probe.id();
    };
    scope.spawn(look);
    co_return 9;
  };
  {
    auto running = poll(coracle::with_scope(body, lifetime_probe{log, 7}));
    CHECK(!running.ready());
    CHECK(log.alive >= 1);
    event.set();
    REQUIRE(running.run());
    CHECK(running.get() == 9);
  }
  CHECK(seen == 7);
  CHECK(log.alive == 0);
}
}  // namespace
