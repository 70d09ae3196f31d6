// tests/unit/event_contract_waiters_test.cpp -- events for many waiters, and events for one.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <vector>

#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"
#include "../support/events.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle_test::await_and_log;
using coracle_test::await_and_log_on;
using coracle_test::detached;
using coracle_test::stays_set;
using coracle_test::wait_with_local;

TEST_CASE_TEMPLATE("event for many: reset() of an event that is not set keeps its waiters", Event,
                   CORACLE_EVENTS_FOR_MANY) {
  Event event;
  std::vector<int> log;
  event.reset();
  await_and_log(event, log, 1);
  event.reset();
  await_and_log(event, log, 2);
  if constexpr (stays_set<Event>) CHECK_FALSE(event.is_set());
  for (int i = 0; i != 2; ++i) event.set();
  CHECK(log == std::vector{1, 2});
}

TEST_CASE_TEMPLATE("event for many: each waiter resumes on its own executor, set() runs none of theirs",
                   Event, CORACLE_EVENTS_FOR_MANY) {
  coracle::run_loop first, second;
  Event event;
  std::vector<int> log;
  await_and_log_on(first, event, log, 1);
  await_and_log_on(second, event, log, 2);
  await_and_log(event, log, 3);
  CHECK(first.run_one());
  CHECK(second.run_one());
  for (int i = 0; i != 3; ++i) event.set();
  CHECK(log == std::vector{3});
  CHECK(second.run_one());
  CHECK(first.run_one());
  CHECK(log == std::vector{3, 2, 1});
}

TEST_CASE_TEMPLATE("event for many: a cancelled waiter leaves those before and behind it in their order",
                   Event, CORACLE_EVENTS_FOR_MANY) {
  Event event;
  coracle::stop_source first, second, third;
  std::vector<int> log;
  await_and_log(event, log, 1);
  await_and_log(event, first, log, 2);
  await_and_log(event, second, log, 3);
  await_and_log(event, log, 4);
  await_and_log(event, third, log, 5);
  second.request_stop();
  CHECK(log == std::vector{-3});
  third.request_stop();
  CHECK(log == std::vector{-3, -5});
  for (int i = 0; i != 3; ++i) event.set();
  CHECK(log == std::vector{-3, -5, 1, 2, 4});
}

TEST_CASE_TEMPLATE("event for one: a set() that comes between looking and suspending lets the waiter go on",
                   Event, CORACLE_EVENTS_FOR_ONE) {
  Event event;
  {
    auto waiting = event.operator co_await();
    CHECK_FALSE(waiting.await_ready());
    event.set();
    CHECK_FALSE(waiting.await_suspend(std::noop_coroutine()));
  }
  if constexpr (stays_set<Event>) CHECK(event.is_set());
}

TEST_CASE_TEMPLATE("event for one: the waiter may destroy it inside set()", Event, CORACLE_EVENTS_FOR_ONE) {
  auto event = std::make_unique<Event>();
  const auto wait_and_destroy = [&]() -> detached {
    co_await *event;
    event.reset();
  };
  wait_and_destroy();
  event->set();
  CHECK(event == nullptr);
}

TEST_CASE_TEMPLATE("event for one: it may be gone when a waiter that it has woken is resumed", Event,
                   CORACLE_EVENTS_FOR_ONE) {
  coracle::run_loop loop;
  auto event = std::make_unique<Event>();
  std::vector<int> log;
  await_and_log_on(loop, *event, log, 1);
  CHECK(loop.run_one());
  event->set();
  event.reset();
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
}

TEST_CASE_TEMPLATE(
    "event for one: a coroutine destroyed while it waits frees all, and the event can be used on", Event,
    CORACLE_EVENTS_FOR_ONE) {
  Event event;
  coracle::testing::lifetimes lives;
  {
    const auto waiting = coracle_test::started(wait_with_local(event, lives));
    CHECK(lives.alive == 1);
  }
  CHECK(lives.alive == 0);
  std::vector<int> log;
  SUBCASE("set, then awaited by another") {
    event.set();
    if constexpr (stays_set<Event>) CHECK(event.is_set());
    await_and_log(event, log, 1);
    CHECK(log == std::vector{1});
  }
  SUBCASE("awaited by another, then set") {
    await_and_log(event, log, 1);
    CHECK(log.empty());
    event.set();
    CHECK(log == std::vector{1});
  }
  SUBCASE("destroyed") {}
}

TEST_CASE_TEMPLATE(
    "event for one: a coroutine destroyed while it waits does not hear of a later stop request", Event,
    CORACLE_EVENTS_FOR_ONE) {
  Event event;
  coracle::stop_source stop;
  coracle::testing::lifetimes lives;
  {
    const auto waiting =
        coracle_test::started(coracle::with_stop(wait_with_local(event, lives), stop.get_token()));
    CHECK(lives.alive == 1);
  }
  CHECK(lives.alive == 0);
  stop.request_stop();
}

TEST_CASE_TEMPLATE("event for one: a coroutine destroyed at a later await has nothing to do with it any more",
                   Event, CORACLE_EVENTS_FOR_ONE) {
  auto event = std::make_unique<Event>();
  Event later;
  coracle::testing::lifetimes lives;
  const auto wait_for_both = [&]() -> coracle::task<> {
    const coracle::testing::lifetime_probe local(lives);
    co_await *event;
    co_await later;
  };
  auto waiting = coracle_test::started(wait_for_both());
  event->set();
  event.reset();
  waiting.destroy();
  CHECK(lives.alive == 0);
}
}  // namespace
