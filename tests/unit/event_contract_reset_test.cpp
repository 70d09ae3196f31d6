// tests/unit/event_contract_reset_test.cpp -- events that stay set, and events that reset themselves.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <vector>

#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"
#include "../support/events.hpp"

namespace {
using coracle_test::await_and_log;
using coracle_test::detached;

TEST_CASE_TEMPLATE("event that stays set: is not set at first, unless told so", Event,
                   CORACLE_EVENTS_THAT_STAY_SET) {
  const Event closed, open{true};
  CHECK_FALSE(closed.is_set());
  CHECK(open.is_set());
}

TEST_CASE_TEMPLATE("event that stays set: an await of a set event does not suspend", Event,
                   CORACLE_EVENTS_THAT_STAY_SET) {
  Event event{true};
  std::vector<int> log;
  await_and_log(event, log, 1);
  await_and_log(event, log, 2);
  CHECK(log == std::vector{1, 2});
  CHECK(event.is_set());
}

TEST_CASE_TEMPLATE("event that stays set: a waiter suspends until set(), and a second set() has no effect",
                   Event, CORACLE_EVENTS_THAT_STAY_SET) {
  Event event;
  std::vector<int> log;
  await_and_log(event, log, 1);
  CHECK(log.empty());
  CHECK_FALSE(event.is_set());
  event.set();
  CHECK(log == std::vector{1});
  CHECK(event.is_set());
  event.set();
  CHECK(log == std::vector{1});
  CHECK(event.is_set());
}

TEST_CASE_TEMPLATE("event that stays set: after reset() an await waits again", Event,
                   CORACLE_EVENTS_THAT_STAY_SET) {
  Event event{true};
  std::vector<int> log;
  event.reset();
  CHECK_FALSE(event.is_set());
  await_and_log(event, log, 1);
  CHECK(log.empty());
  event.reset();
  CHECK(log.empty());
  event.set();
  CHECK(log == std::vector{1});
}

TEST_CASE_TEMPLATE("event that stays set: one set() wakes a waiter once, though it waits again meanwhile",
                   Event, CORACLE_EVENTS_THAT_STAY_SET) {
  Event event;
  std::vector<int> log;
  const auto wait_twice = [&]() -> detached {
    for (int i = 1; i != 3; ++i) {
      co_await event;
      log.push_back(i);
      event.reset();
    }
  };
  wait_twice();
  event.set();
  CHECK(log == std::vector{1});
  CHECK_FALSE(event.is_set());
  event.set();
  CHECK(log == std::vector{1, 2});
}

TEST_CASE_TEMPLATE("event that stays set: when its only waiter is cancelled it is as if nobody had waited",
                   Event, CORACLE_EVENTS_THAT_STAY_SET) {
  Event event;
  coracle::stop_source source;
  std::vector<int> log;
  await_and_log(event, source, log, 1);
  source.request_stop();
  event.reset();
  CHECK_FALSE(event.is_set());
  event.set();
  CHECK(event.is_set());
  CHECK(log == std::vector{-1});
}

TEST_CASE_TEMPLATE("event that resets itself: one that starts set lets exactly one await through", Event,
                   CORACLE_EVENTS_THAT_RESET_THEMSELVES) {
  Event event{true};
  std::vector<int> log;
  await_and_log(event, log, 1);
  CHECK(log == std::vector{1});
  await_and_log(event, log, 2);
  CHECK(log == std::vector{1});
  event.set();
  CHECK(log == std::vector{1, 2});
}

TEST_CASE_TEMPLATE("event that resets itself: without a waiter any number of set() is remembered once", Event,
                   CORACLE_EVENTS_THAT_RESET_THEMSELVES) {
  Event event;
  std::vector<int> log;
  for (int i = 0; i != 3; ++i) event.set();
  await_and_log(event, log, 1);
  await_and_log(event, log, 2);
  CHECK(log == std::vector{1});
  event.set();
  CHECK(log == std::vector{1, 2});
}

TEST_CASE_TEMPLATE("event that resets itself: a set() that woke a waiter leaves nothing behind", Event,
                   CORACLE_EVENTS_THAT_RESET_THEMSELVES) {
  Event event;
  std::vector<int> log;
  await_and_log(event, log, 1);
  event.set();
  await_and_log(event, log, 2);
  CHECK(log == std::vector{1});
  event.set();
}

TEST_CASE_TEMPLATE(
    "event that resets itself: when its only waiter is cancelled it is as if nobody had waited", Event,
    CORACLE_EVENTS_THAT_RESET_THEMSELVES) {
  Event event;
  coracle::stop_source source;
  std::vector<int> log;
  await_and_log(event, source, log, 1);
  source.request_stop();
  if constexpr (requires { event.reset(); }) event.reset();
  event.set();
  event.set();
  await_and_log(event, log, 2);
  CHECK(log == std::vector{-1, 2});
  await_and_log(event, log, 3);
  CHECK(log == std::vector{-1, 2});
  event.set();
}
}  // namespace
