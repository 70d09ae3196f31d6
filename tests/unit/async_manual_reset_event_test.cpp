// tests/unit/async_manual_reset_event_test.cpp -- the gate that stays open.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle_test::detached;

detached wait_and_log(async_manual_reset_event& event, std::vector<int>& log, int name) {
  co_await event;
  log.push_back(name);
}
detached wait_on(coracle::run_loop& loop, async_manual_reset_event& event, std::vector<int>& log, int name) {
  co_await loop.schedule();
  co_await event;
  log.push_back(coracle::current_executor() == &loop ? name : -name);
}

TEST_CASE("async_manual_reset_event: is not set at first, unless told so") {
  async_manual_reset_event closed, open{true};
  CHECK_FALSE(closed.is_set());
  CHECK(open.is_set());
}

TEST_CASE("async_manual_reset_event: an await of a set event does not suspend, and it stays set") {
  async_manual_reset_event event{true};
  std::vector<int> log;
  wait_and_log(event, log, 1);
  wait_and_log(event, log, 2);
  CHECK(log == std::vector{1, 2});
  CHECK(event.is_set());
}

TEST_CASE("async_manual_reset_event: waiters suspend, and set() wakes them first come, first served") {
  async_manual_reset_event event;
  std::vector<int> log;
  for (int name = 1; name != 6; ++name) wait_and_log(event, log, name);
  CHECK(log.empty());
  CHECK_FALSE(event.is_set());
  event.set();
  CHECK(log == std::vector{1, 2, 3, 4, 5});
  CHECK(event.is_set());
}

TEST_CASE("async_manual_reset_event: a second set() has no effect") {
  async_manual_reset_event event;
  std::vector<int> log;
  wait_and_log(event, log, 1);
  event.set();
  event.set();
  CHECK(log == std::vector{1});
  CHECK(event.is_set());
}

TEST_CASE("async_manual_reset_event: after reset() awaits wait again") {
  async_manual_reset_event event{true};
  std::vector<int> log;
  event.reset();
  CHECK_FALSE(event.is_set());
  wait_and_log(event, log, 1);
  CHECK(log.empty());
  event.set();
  CHECK(log == std::vector{1});
}

TEST_CASE("async_manual_reset_event: reset() of an event that is not set keeps its waiters") {
  async_manual_reset_event event;
  std::vector<int> log;
  event.reset();
  wait_and_log(event, log, 1);
  event.reset();
  wait_and_log(event, log, 2);
  CHECK_FALSE(event.is_set());
  event.set();
  CHECK(log == std::vector{1, 2});
}

detached wait_twice(async_manual_reset_event& event, std::vector<int>& log) {
  co_await event;
  log.push_back(1);
  event.reset();
  co_await event;
  log.push_back(2);
}

TEST_CASE("async_manual_reset_event: one set() wakes a waiter once, though it waits again meanwhile") {
  async_manual_reset_event event;
  std::vector<int> log;
  wait_twice(event, log);
  event.set();
  CHECK(log == std::vector{1});
  CHECK_FALSE(event.is_set());
  event.set();
  CHECK(log == std::vector{1, 2});
}

detached wait_then_set(async_manual_reset_event& event, async_manual_reset_event& next, int& woken) {
  co_await event;
  ++woken;
  next.set();
}

TEST_CASE(
    "async_manual_reset_event: a waiter outside any executor runs inside set(), on the setter's thread") {
  async_manual_reset_event event;
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

TEST_CASE("async_manual_reset_event: a waiter on a run_loop is posted there, set() does not run it") {
  coracle::run_loop loop;
  async_manual_reset_event event;
  std::vector<int> log;
  wait_on(loop, event, log, 1);
  wait_on(loop, event, log, 2);
  CHECK(loop.run_pending() == 2);
  event.set();
  CHECK(log.empty());
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK(loop.run_one());
  CHECK(log == std::vector{1, 2});
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("async_manual_reset_event: each waiter resumes on its own executor") {
  coracle::run_loop first, second;
  async_manual_reset_event event;
  std::vector<int> log;
  wait_on(first, event, log, 1);
  wait_on(second, event, log, 2);
  wait_and_log(event, log, 3);
  CHECK(first.run_one());
  CHECK(second.run_one());
  event.set();
  CHECK(log == std::vector{3});
  CHECK(second.run_one());
  CHECK(first.run_one());
  CHECK(log == std::vector{3, 2, 1});
}

TEST_CASE(
    "async_manual_reset_event: a waiter outside any executor stays outside when a coroutine of a loop wakes "
    "it") {
  coracle::run_loop loop;
  async_manual_reset_event event;
  const coracle::executor* waiter_on = &loop;
  const coracle::executor* setter_on_after = nullptr;
  const auto wait = [&]() -> detached {
    co_await event;
    waiter_on = coracle::current_executor();
  };
  const auto set = [&]() -> detached {
    co_await loop.schedule();
    event.set();
    setter_on_after = coracle::current_executor();
  };
  wait();
  set();
  CHECK(loop.run_one());
  CHECK(waiter_on == nullptr);
  CHECK(setter_on_after == &loop);
}

TEST_CASE("async_manual_reset_event: another thread's set() wakes a loop that has nothing else to do") {
  coracle::run_loop loop;
  async_manual_reset_event event;
  std::thread::id resumed_on;
  const auto wait = [&]() -> detached {
    co_await loop.schedule();
    co_await event;
    resumed_on = std::this_thread::get_id();
    loop.stop();
  };
  wait();
  CHECK(loop.run_one());
  std::thread setter([&] { event.set(); });
  loop.run();
  setter.join();
  CHECK(resumed_on == std::this_thread::get_id());
}

TEST_CASE("async_manual_reset_event: stop requested before the await: it is cancelled, though it is set") {
  async_manual_reset_event event{true};
  coracle::stop_source source;
  source.request_stop();
  std::vector<int> log;
  coracle_test::await_and_log(event, source, log, 1);
  CHECK(log == std::vector{-1});
  CHECK(event.is_set());
}

TEST_CASE("async_manual_reset_event: stop requested during the wait ends it; the next set() is for others") {
  async_manual_reset_event event;
  coracle::stop_source source;
  std::vector<int> log;
  coracle_test::await_and_log(event, source, log, 1);
  source.request_stop();
  CHECK(log == std::vector{-1});
  wait_and_log(event, log, 2);
  CHECK(log == std::vector{-1});
  event.set();
  CHECK(log == std::vector{-1, 2});
}

TEST_CASE("async_manual_reset_event: a cancelled waiter leaves those before and behind it in their order") {
  async_manual_reset_event event;
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
  CHECK(log == std::vector{-3, -5, 1, 2, 4});
}

TEST_CASE("async_manual_reset_event: when its only waiter is cancelled it is as if nobody had waited") {
  async_manual_reset_event event;
  coracle::stop_source source;
  std::vector<int> log;
  coracle_test::await_and_log(event, source, log, 1);
  source.request_stop();
  event.reset();
  CHECK_FALSE(event.is_set());
  event.set();
  CHECK(event.is_set());
  CHECK(log == std::vector{-1});
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
  coracle_test::await_and_log(event, source, log, 2);
  event.set();
  CHECK(log == std::vector{1, 2});
  CHECK_FALSE(event.is_set());
}

TEST_CASE("async_manual_reset_event: the last waiter to be woken may destroy it") {
  auto event = std::make_unique<async_manual_reset_event>();
  bool destroyed = false;
  std::vector<int> log;
  wait_and_log(*event, log, 1);
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
          wait_and_log(event, log, 1);
        }) == "coracle: an async_manual_reset_event was destroyed while coroutines wait for it\n");
}

TEST_CASE("async_manual_reset_event: waiting, setting and resetting allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_manual_reset_event event, ended;
  const auto wait = [&]() -> detached {
    for (int i = 0; i != 3; ++i) {
      co_await event;
      event.reset();
    }
    ended.set();
  };
  wait();
  const auto before = coracle::testing::allocations();
  for (int i = 0; i != 3; ++i) event.set();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(ended.is_set());
}

// What the header promises to the compiler.
using event_awaiter = coracle::awaiter_type_t<async_manual_reset_event&>;
static_assert(sizeof(async_manual_reset_event) == 24);
static_assert(std::is_nothrow_default_constructible_v<async_manual_reset_event>);
static_assert(!std::is_copy_constructible_v<async_manual_reset_event> &&
              !std::is_move_constructible_v<async_manual_reset_event>);
static_assert(noexcept(std::declval<async_manual_reset_event&>().set()) &&
              noexcept(std::declval<async_manual_reset_event&>().reset()) &&
              noexcept(std::declval<const async_manual_reset_event&>().is_set()) &&
              noexcept(std::declval<async_manual_reset_event&>().operator co_await()));
static_assert(noexcept(std::declval<event_awaiter&>().await_ready()) &&
              noexcept(std::declval<event_awaiter&>().await_suspend(std::coroutine_handle<>())));
static_assert(std::is_void_v<coracle::await_result_t<async_manual_reset_event&>>);
}  // namespace
