// tests/unit/async_manual_reset_event_test.cpp -- the event that stays set.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle_test::await_and_log;
using coracle_test::detached;

TEST_CASE("async_manual_reset_event: waiters suspend, and set() wakes them first come, first served") {
  async_manual_reset_event event;
  std::vector<int> log;
  for (int name = 1; name != 6; ++name) await_and_log(event, log, name);
  CHECK(log.empty());
  CHECK_FALSE(event.is_set());
  event.set();
  CHECK(log == std::vector{1, 2, 3, 4, 5});
  CHECK(event.is_set());
}

detached wait_then_set(async_manual_reset_event& event, async_manual_reset_event& next, int& woken) {
  co_await event;
  ++woken;
  next.set();
}

TEST_CASE(
    "async_manual_reset_event: a chain of 1000 waiters that set the next event ends before set() returns") {
  std::vector<std::unique_ptr<async_manual_reset_event>> events;
  for (int i = 0; i != 1001; ++i) events.push_back(std::make_unique<async_manual_reset_event>());
  int woken = 0;
  for (std::size_t i = 0; i != 1000; ++i) wait_then_set(*events[i], *events[i + 1], woken);
  events[0]->set();
  CHECK(woken == 1000);
  CHECK(events[1000]->is_set());
}

TEST_CASE("async_manual_reset_event: one set() posts all waiters of a run_loop, first come, first served") {
  coracle::run_loop loop;
  async_manual_reset_event event;
  std::vector<int> log;
  coracle_test::await_and_log_on(loop, event, log, 1);
  coracle_test::await_and_log_on(loop, event, log, 2);
  CHECK(loop.run_pending() == 2);
  event.set();
  CHECK(log.empty());
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK(loop.run_one());
  CHECK(log == std::vector{1, 2});
  CHECK_FALSE(loop.run_one());
}

TEST_CASE(
    "async_manual_reset_event: a waiter that resets it and stops another, woken by the same set(), is too "
    "late") {
  async_manual_reset_event event;
  coracle::stop_source source;
  std::vector<int> log;
  const auto reset_and_stop = [&]() -> detached {
    co_await event;
    event.reset();
    source.request_stop();
    log.push_back(1);
  };
  reset_and_stop();
  await_and_log(event, source, log, 2);
  event.set();
  CHECK(log == std::vector{1, 2});
  CHECK_FALSE(event.is_set());
}

TEST_CASE("async_manual_reset_event: the last waiter to be woken may destroy it") {
  auto event = std::make_unique<async_manual_reset_event>();
  bool destroyed = false;
  std::vector<int> log;
  await_and_log(*event, log, 1);
  const auto wait_and_destroy = [&]() -> detached {
    co_await *event;
    event.reset();
    destroyed = true;
  };
  wait_and_destroy();
  event->set();
  CHECK(destroyed);
  CHECK(log == std::vector{1});
}

TEST_CASE("async_manual_reset_event: destroyed while a coroutine waits ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          async_manual_reset_event event;
          std::vector<int> log;
          await_and_log(event, log, 1);
        }) ==
        "coracle: an async_manual_reset_event was destroyed while coroutines wait for it: stop and join them "
        "first\n");
}

// The static guarantees of the header; event_contract_test.cpp has the others.
static_assert(sizeof(async_manual_reset_event) == 24);
static_assert(noexcept(std::declval<async_manual_reset_event&>().reset()) &&
              noexcept(std::declval<const async_manual_reset_event&>().is_set()));
}  // namespace
