// tests/unit/event_contract_test.cpp -- the contract of all events, and of each kind of event.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/single_consumer_async_auto_reset_event.hpp>
#include <coracle/sync/single_consumer_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle_test::await_and_log;
using coracle_test::await_and_log_on;
using coracle_test::detached;

#define CORACLE_EVENTS                                                                                \
  coracle::async_auto_reset_event, coracle::async_manual_reset_event, coracle::single_consumer_event, \
      coracle::single_consumer_async_auto_reset_event
#define CORACLE_EVENTS_FOR_MANY coracle::async_auto_reset_event, coracle::async_manual_reset_event
#define CORACLE_EVENTS_FOR_ONE coracle::single_consumer_event, coracle::single_consumer_async_auto_reset_event
#define CORACLE_EVENTS_THAT_STAY_SET coracle::async_manual_reset_event, coracle::single_consumer_event
#define CORACLE_EVENTS_THAT_RESET_THEMSELVES \
  coracle::async_auto_reset_event, coracle::single_consumer_async_auto_reset_event

template <class Event>
concept stays_set = requires(const Event& event) { event.is_set(); };

template <class Event>
coracle::task<> wait_with_local(Event& event, coracle::testing::lifetimes& lives) {
  const coracle::testing::lifetime_probe local(lives);
  co_await event;
}

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
