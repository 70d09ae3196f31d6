// tests/unit/async_auto_reset_event_test.cpp -- the gate that lets one through.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::async_auto_reset_event;
using coracle_test::detached;

detached wait_and_log(async_auto_reset_event& event, std::vector<int>& log, int name) {
  co_await event;
  log.push_back(name);
}
detached wait_on(coracle::run_loop& loop, async_auto_reset_event& event, std::vector<int>& log, int name) {
  co_await loop.schedule();
  co_await event;
  log.push_back(coracle::current_executor() == &loop ? name : -name);
}

TEST_CASE("async_auto_reset_event: an event that starts set lets exactly one through") {
  async_auto_reset_event event{true};
  std::vector<int> log;
  wait_and_log(event, log, 1);
  CHECK(log == std::vector{1});
  wait_and_log(event, log, 2);
  CHECK(log == std::vector{1});
  event.set();
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("async_auto_reset_event: each set() wakes one waiter, first come, first served") {
  async_auto_reset_event event;
  std::vector<int> log;
  for (int name = 1; name != 5; ++name) wait_and_log(event, log, name);
  CHECK(log.empty());
  event.set();
  CHECK(log == std::vector{1});
  event.set();
  CHECK(log == std::vector{1, 2});
  wait_and_log(event, log, 5);
  event.set();
  event.set();
  event.set();
  CHECK(log == std::vector{1, 2, 3, 4, 5});
}

TEST_CASE("async_auto_reset_event: without a waiter any number of set() is remembered once") {
  async_auto_reset_event event;
  std::vector<int> log;
  event.set();
  event.set();
  event.set();
  wait_and_log(event, log, 1);
  wait_and_log(event, log, 2);
  CHECK(log == std::vector{1});
  event.set();
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("async_auto_reset_event: a set() that woke a waiter leaves nothing behind") {
  async_auto_reset_event event;
  std::vector<int> log;
  wait_and_log(event, log, 1);
  event.set();
  wait_and_log(event, log, 2);
  CHECK(log == std::vector{1});
  event.set();
}

TEST_CASE("async_auto_reset_event: reset() forgets a set() that nobody has used") {
  async_auto_reset_event event{true};
  std::vector<int> log;
  event.reset();
  wait_and_log(event, log, 1);
  CHECK(log.empty());
  event.set();
  CHECK(log == std::vector{1});
}

TEST_CASE("async_auto_reset_event: reset() of an event that is not set keeps its waiters") {
  async_auto_reset_event event;
  std::vector<int> log;
  event.reset();
  wait_and_log(event, log, 1);
  event.reset();
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
  wait_and_log(event, log, 2);
  event.set();
  CHECK(log == std::vector{1});
  event.set();
  event.set();
  CHECK(log == std::vector{1, 2, 3});
}

TEST_CASE("async_auto_reset_event: a waiter outside any executor runs inside set(), on the setter's thread") {
  async_auto_reset_event event;
  std::thread::id waiter_ran_on;
  const auto wait = [&]() -> detached {
    co_await event;
    waiter_ran_on = std::this_thread::get_id();
  };
  wait();
  std::thread::id setter, seen_after_set;
  std::thread([&] {
    setter = std::this_thread::get_id();
    event.set();
    seen_after_set = waiter_ran_on;
  }).join();
  CHECK(seen_after_set == setter);
  CHECK(seen_after_set != std::this_thread::get_id());
}

TEST_CASE("async_auto_reset_event: each waiter resumes on its own executor, set() runs none of theirs") {
  coracle::run_loop first, second;
  async_auto_reset_event event;
  std::vector<int> log;
  wait_on(first, event, log, 1);
  wait_on(second, event, log, 2);
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

TEST_CASE(
    "async_auto_reset_event: stop requested before the await: it is cancelled, and takes no set() with it") {
  async_auto_reset_event event{true};
  coracle::stop_source source;
  source.request_stop();
  std::vector<int> log;
  coracle_test::await_and_log(event, source, log, 1);
  CHECK(log == std::vector{-1});
  wait_and_log(event, log, 2);
  CHECK(log == std::vector{-1, 2});
}

TEST_CASE("async_auto_reset_event: stop requested during the wait ends it; the next set() is for others") {
  async_auto_reset_event event;
  coracle::stop_source source;
  std::vector<int> log;
  coracle_test::await_and_log(event, source, log, 1);
  source.request_stop();
  CHECK(log == std::vector{-1});
  event.set();
  wait_and_log(event, log, 2);
  CHECK(log == std::vector{-1, 2});
}

TEST_CASE("async_auto_reset_event: a cancelled waiter leaves those before and behind it in their order") {
  async_auto_reset_event event;
  coracle::stop_source first, second, third;
  std::vector<int> log;
  wait_and_log(event, log, 1);
  coracle_test::await_and_log(event, first, log, 2);
  coracle_test::await_and_log(event, second, log, 3);
  wait_and_log(event, log, 4);
  coracle_test::await_and_log(event, third, log, 5);
  second.request_stop();
  CHECK(log == std::vector{-3});
  third.request_stop();
  CHECK(log == std::vector{-3, -5});
  event.set();
  event.set();
  event.set();
  CHECK(log == std::vector{-3, -5, 1, 2, 4});
}

TEST_CASE("async_auto_reset_event: when its only waiter is cancelled it is as if nobody had waited") {
  async_auto_reset_event event;
  coracle::stop_source source;
  std::vector<int> log;
  coracle_test::await_and_log(event, source, log, 1);
  source.request_stop();
  event.reset();
  event.set();
  event.set();
  wait_and_log(event, log, 2);
  CHECK(log == std::vector{-1, 2});
  wait_and_log(event, log, 3);
  CHECK(log == std::vector{-1, 2});
  event.set();
}

TEST_CASE("async_auto_reset_event: destroyed while a coroutine waits ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          async_auto_reset_event event;
          std::vector<int> log;
          wait_and_log(event, log, 1);
        }) == "coracle: an async_auto_reset_event was destroyed while coroutines wait for it\n");
}

TEST_CASE("async_auto_reset_event: waiting, setting and resetting allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_auto_reset_event event;
  int woken = 0;
  const auto wait = [&]() -> detached {
    for (; woken != 4; ++woken) co_await event;
  };
  wait();
  const auto before = coracle::testing::allocations();
  for (int i = 0; i != 4; ++i) event.set();
  event.set();
  event.reset();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(woken == 4);
}

// What the header promises to the compiler.
using event_awaiter = coracle::awaiter_type_t<async_auto_reset_event&>;
static_assert(sizeof(async_auto_reset_event) == 24);
static_assert(std::is_nothrow_default_constructible_v<async_auto_reset_event>);
static_assert(!std::is_copy_constructible_v<async_auto_reset_event> &&
              !std::is_move_constructible_v<async_auto_reset_event>);
static_assert(noexcept(std::declval<async_auto_reset_event&>().set()) &&
              noexcept(std::declval<async_auto_reset_event&>().reset()) &&
              noexcept(std::declval<async_auto_reset_event&>().operator co_await()));
static_assert(noexcept(std::declval<event_awaiter&>().await_ready()) &&
              noexcept(std::declval<event_awaiter&>().await_suspend(std::coroutine_handle<>())));
static_assert(std::is_void_v<coracle::await_result_t<async_auto_reset_event&>>);
}  // namespace
