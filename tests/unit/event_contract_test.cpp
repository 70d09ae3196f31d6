// tests/unit/event_contract_test.cpp -- the contract of all events.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"
#include "../support/events.hpp"

namespace {
using coracle_test::await_and_log;
using coracle_test::await_and_log_on;
using coracle_test::detached;
using coracle_test::stays_set;
using coracle_test::wait_with_local;

TEST_CASE_TEMPLATE("event: an await that does not suspend stays on its executor without a post", Event,
                   CORACLE_EVENTS) {
  coracle::run_loop loop;
  Event event{true};
  std::vector<int> log;
  await_and_log_on(loop, event, log, 1);
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK_FALSE(loop.run_one());
}

TEST_CASE_TEMPLATE("event: a waiter outside any executor runs inside set(), on the setter's thread", Event,
                   CORACLE_EVENTS) {
  Event event;
  bool schedules_inline = false;
  SUBCASE("waiting from the start") {}
  SUBCASE("after inline_scheduler") { schedules_inline = true; }
  std::thread::id waiter_ran_on;
  const auto wait = [&]() -> detached {
    if (schedules_inline) co_await coracle::inline_scheduler{}.schedule();
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

TEST_CASE_TEMPLATE("event: a waiter outside any executor stays outside when a coroutine of a loop wakes it",
                   Event, CORACLE_EVENTS) {
  coracle::run_loop loop;
  Event event;
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

TEST_CASE_TEMPLATE("event: a waiter on a run_loop is posted there, set() does not run it", Event,
                   CORACLE_EVENTS) {
  coracle::run_loop loop;
  Event event;
  std::vector<int> log;
  await_and_log_on(loop, event, log, 1);
  CHECK(loop.run_one());
  event.set();
  CHECK(log.empty());
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK_FALSE(loop.run_one());
}

TEST_CASE_TEMPLATE("event: another thread's set() wakes a loop that has nothing else to do", Event,
                   CORACLE_EVENTS) {
  coracle::run_loop loop;
  Event event;
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

TEST_CASE_TEMPLATE("event: sync_wait waits for another thread's set() and sees what it wrote", Event,
                   CORACLE_EVENTS) {
  Event event;
  int written = 0;
  std::thread setter([&] {
    written = 42;
    event.set();
  });
  coracle::sync_wait(event);
  CHECK(written == 42);
  setter.join();
}

TEST_CASE_TEMPLATE("event: stop requested before the await cancels it, and takes no set() with it", Event,
                   CORACLE_EVENTS) {
  Event event{true};
  coracle::stop_source source;
  source.request_stop();
  std::vector<int> log;
  await_and_log(event, source, log, 1);
  CHECK(log == std::vector{-1});
  if constexpr (stays_set<Event>) CHECK(event.is_set());
  await_and_log(event, log, 2);
  CHECK(log == std::vector{-1, 2});
}

TEST_CASE_TEMPLATE("event: stop requested during the wait ends it; the next set() is for others", Event,
                   CORACLE_EVENTS) {
  Event event;
  coracle::stop_source source;
  std::vector<int> log;
  await_and_log(event, source, log, 1);
  source.request_stop();
  CHECK(log == std::vector{-1});
  if constexpr (stays_set<Event>) CHECK_FALSE(event.is_set());
  SUBCASE("set before another waits") {
    event.set();
    await_and_log(event, log, 2);
  }
  SUBCASE("set while another waits") {
    await_and_log(event, log, 2);
    CHECK(log == std::vector{-1});
    event.set();
  }
  CHECK(log == std::vector{-1, 2});
}

TEST_CASE_TEMPLATE("event: stop requested after set() has no effect, though the waiter has not run yet",
                   Event, CORACLE_EVENTS) {
  Event event;
  coracle::stop_source source;
  coracle::run_loop loop;
  std::vector<int> log;
  const auto wait = [&]() -> detached {
    co_await loop.schedule();
    await_and_log(event, source, log, 1);
  };
  wait();
  loop.run_pending();
  event.set();
  source.request_stop();
  CHECK(log.empty());
  loop.run_pending();
  CHECK(log == std::vector{1});
}

TEST_CASE_TEMPLATE("event: a waiter that ends inside set() frees all", Event, CORACLE_EVENTS) {
  Event event;
  coracle::testing::lifetimes lives;
  coracle_test::run_detached(wait_with_local(event, lives));
  CHECK(lives.alive == 1);
  event.set();
  CHECK(lives.alive == 0);
}

TEST_CASE_TEMPLATE("event: waiting, setting and resetting allocate nothing" *
                       doctest::skip(!coracle::testing::allocations_are_counted),
                   Event, CORACLE_EVENTS) {
  Event event;
  const auto reset = [&] {
    if constexpr (requires { event.reset(); }) event.reset();
  };
  int woken = 0;
  const auto wait = [&]() -> detached {
    for (; woken != 4; ++woken) {
      co_await event;
      reset();
    }
  };
  wait();
  const auto before = coracle::testing::allocations();
  for (int i = 0; i != 4; ++i) event.set();
  event.set();
  reset();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(woken == 4);
}

// The static guarantees of each header.
template <class Event>
concept keeps_promises =
    std::is_nothrow_default_constructible_v<Event> && !std::is_copy_constructible_v<Event> &&
    !std::is_move_constructible_v<Event> && std::is_void_v<coracle::await_result_t<Event&>> &&
    requires(Event& event, coracle::awaiter_type_t<Event&>& waiting) {
      { event.set() } noexcept;
      { event.operator co_await() } noexcept;
      { waiting.await_ready() } noexcept;
      { waiting.await_suspend(std::coroutine_handle<>()) } noexcept;
    };
static_assert(keeps_promises<coracle::async_auto_reset_event>);
static_assert(keeps_promises<coracle::async_manual_reset_event>);
static_assert(keeps_promises<coracle::single_consumer_event>);
static_assert(keeps_promises<coracle::single_consumer_async_auto_reset_event>);
}  // namespace
