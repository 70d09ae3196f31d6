// tests/unit/async_auto_reset_event_test.cpp -- the event that wakes one waiter.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::async_auto_reset_event;
using coracle_test::await_and_log;
using coracle_test::await_and_log_on;
using coracle_test::detached;

TEST_CASE("async_auto_reset_event: each set() wakes one waiter, first come, first served") {
  async_auto_reset_event event;
  std::vector<int> log;
  for (int name = 1; name != 5; ++name) await_and_log(event, log, name);
  CHECK(log.empty());
  event.set();
  CHECK(log == std::vector{1});
  event.set();
  CHECK(log == std::vector{1, 2});
  await_and_log(event, log, 5);
  event.set();
  event.set();
  event.set();
  CHECK(log == std::vector{1, 2, 3, 4, 5});
}

TEST_CASE("async_auto_reset_event: reset() forgets a set() that nobody has used") {
  async_auto_reset_event event{true};
  std::vector<int> log;
  event.reset();
  await_and_log(event, log, 1);
  CHECK(log.empty());
  event.set();
  CHECK(log == std::vector{1});
}

TEST_CASE("async_auto_reset_event: a woken waiter that sets the event wakes the next before set() returns") {
  async_auto_reset_event event;
  int woken = 0;
  const auto wait_and_pass_on = [&]() -> detached {
    co_await event;
    ++woken;
    event.set();
  };
  for (int i = 0; i != 1000; ++i) wait_and_pass_on();
  event.set();
  CHECK(woken == 1000);
}

TEST_CASE("async_auto_reset_event: a waiter that waits again goes behind those who waited before") {
  async_auto_reset_event event;
  std::vector<int> log;
  const auto wait_twice = [&]() -> detached {
    co_await event;
    log.push_back(1);
    co_await event;
    log.push_back(3);
  };
  wait_twice();
  await_and_log(event, log, 2);
  event.set();
  CHECK(log == std::vector{1});
  event.set();
  event.set();
  CHECK(log == std::vector{1, 2, 3});
}

TEST_CASE("async_auto_reset_event: each set() posts one waiter to its executor, first come, first served") {
  coracle::run_loop first, second;
  async_auto_reset_event event;
  std::vector<int> log;
  await_and_log_on(first, event, log, 1);
  await_and_log_on(second, event, log, 2);
  CHECK(first.run_one());
  CHECK(second.run_one());
  event.set();
  CHECK_FALSE(second.run_one());
  event.set();
  CHECK(log.empty());
  CHECK(second.run_one());
  CHECK(first.run_one());
  CHECK(log == std::vector{2, 1});
}

TEST_CASE("async_auto_reset_event: destroyed while a coroutine waits ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          async_auto_reset_event event;
          std::vector<int> log;
          await_and_log(event, log, 1);
        }) ==
        "coracle: an async_auto_reset_event was destroyed while coroutines wait for it: stop and join them "
        "first\n");
}

// The static guarantees of the header; event_contract_test.cpp has the others.
static_assert(sizeof(async_auto_reset_event) == 24);
static_assert(noexcept(std::declval<async_auto_reset_event&>().reset()));
}  // namespace
