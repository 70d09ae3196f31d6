// tests/unit/single_consumer_event_test.cpp -- the gate for one coroutine, that stays open.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/single_consumer_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::single_consumer_event;
using coracle_test::detached;

detached wait_and_log(single_consumer_event& event, std::vector<int>& log, int name) {
  co_await event;
  log.push_back(name);
}
/// Logs `name`, or `-name` if it does not run on `loop`.
detached wait_on(coracle::run_loop& loop, single_consumer_event& event, std::vector<int>& log, int name) {
  co_await loop.schedule();
  co_await event;
  log.push_back(coracle::current_executor() == &loop ? name : -name);
}

TEST_CASE("single_consumer_event: one waits until another sets it, as the header shows") {
  single_consumer_event reply_came;
  std::vector<int> log;
  const auto ask = [&]() -> coracle::task<> {
    log.push_back(1);
    co_await reply_came;
    log.push_back(3);
  };
  const auto reply = [&]() -> coracle::task<> {
    log.push_back(2);
    reply_came.set();
    co_return;
  };
  coracle::sync_wait(coracle::when_all(ask(), reply()));
  CHECK(log == std::vector{1, 2, 3});
}

TEST_CASE("single_consumer_event: is not set at first, unless told so") {
  const single_consumer_event closed, open{true};
  CHECK_FALSE(closed.is_set());
  CHECK(open.is_set());
}

TEST_CASE("single_consumer_event: an await of a set event does not suspend, and it stays set") {
  single_consumer_event event{true};
  std::vector<int> log;
  wait_and_log(event, log, 1);
  wait_and_log(event, log, 2);
  CHECK(log == std::vector{1, 2});
  CHECK(event.is_set());
}

TEST_CASE("single_consumer_event: a waiter suspends until set(), which may be called again") {
  single_consumer_event event;
  std::vector<int> log;
  wait_and_log(event, log, 1);
  CHECK(log.empty());
  CHECK_FALSE(event.is_set());
  event.set();
  CHECK(log == std::vector{1});
  CHECK(event.is_set());
  event.set();
  CHECK(log == std::vector{1});
  CHECK(event.is_set());
}

TEST_CASE("single_consumer_event: after reset() an await waits again") {
  single_consumer_event event{true};
  std::vector<int> log;
  event.reset();
  CHECK_FALSE(event.is_set());
  wait_and_log(event, log, 1);
  CHECK(log.empty());
  event.reset();
  CHECK(log.empty());
  event.set();
  CHECK(log == std::vector{1});
}

TEST_CASE(
    "single_consumer_event: one set() wakes the waiter once, though it resets and waits again meanwhile") {
  single_consumer_event event;
  std::vector<int> log;
  const auto wait = [&]() -> detached {
    for (int i = 0; i != 2; ++i) {
      co_await event;
      log.push_back(i);
      event.reset();
    }
  };
  wait();
  event.set();
  CHECK(log == std::vector{0});
  event.set();
  CHECK(log == std::vector{0, 1});
}

TEST_CASE("single_consumer_event: a set() that comes between looking and suspending lets the waiter go on") {
  single_consumer_event event;
  {
    auto waiting = event.operator co_await();
    CHECK_FALSE(waiting.await_ready());
    event.set();
    CHECK_FALSE(waiting.await_suspend(std::noop_coroutine()));
  }
  CHECK(event.is_set());
}

TEST_CASE("single_consumer_event: a waiter outside any executor runs inside set(), on the setter's thread") {
  single_consumer_event event;
  std::thread::id waiter_ran_on;
  const auto wait = [&]() -> detached {
    co_await coracle::inline_scheduler{}.schedule();
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

TEST_CASE("single_consumer_event: a waiter on a run_loop is posted there, set() does not run it") {
  coracle::run_loop loop;
  single_consumer_event event;
  std::vector<int> log;
  wait_on(loop, event, log, 1);
  CHECK(loop.run_one());
  event.set();
  CHECK(log.empty());
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("single_consumer_event: a waiter on a pool resumes on the pool and sees what the setter wrote") {
  coracle::static_thread_pool pool{2};
  single_consumer_event asked, answered;
  int question = 0, answer = 0;
  const coracle::executor* resumed_on = nullptr;
  const auto serve = [&]() -> detached {
    co_await pool.schedule();
    co_await asked;
    resumed_on = coracle::current_executor();
    answer = question + 1;
    answered.set();
  };
  serve();
  question = 41;
  asked.set();
  coracle::sync_wait(answered);
  CHECK(answer == 42);
  CHECK(resumed_on == &pool);
}

TEST_CASE("single_consumer_event: stop requested before the await: it is cancelled, though it is set") {
  single_consumer_event event{true};
  coracle::stop_source source;
  source.request_stop();
  std::vector<int> log;
  coracle_test::await_and_log(event, source, log, 1);
  CHECK(log == std::vector{-1});
  CHECK(event.is_set());
}

TEST_CASE("single_consumer_event: stop requested during the wait ends it; the next set() is for others") {
  single_consumer_event event;
  coracle::stop_source source;
  std::vector<int> log;
  coracle_test::await_and_log(event, source, log, 1);
  source.request_stop();
  CHECK(log == std::vector{-1});
  CHECK_FALSE(event.is_set());
  wait_and_log(event, log, 2);
  CHECK(log == std::vector{-1});
  event.set();
  CHECK(log == std::vector{-1, 2});
}

TEST_CASE("single_consumer_event: the waiter may destroy it inside set()") {
  auto event = std::make_unique<single_consumer_event>();
  const auto wait_and_destroy = [&]() -> detached {
    co_await *event;
    event.reset();
  };
  wait_and_destroy();
  event->set();
  CHECK(event == nullptr);
}

TEST_CASE("single_consumer_event: it may be gone when a waiter that it has woken is resumed") {
  coracle::run_loop loop;
  auto event = std::make_unique<single_consumer_event>();
  std::vector<int> log;
  wait_on(loop, *event, log, 1);
  CHECK(loop.run_one());
  event->set();
  event.reset();
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
}

coracle::task<> wait_with_local(single_consumer_event& event, coracle::testing::lifetimes& lives) {
  const coracle::testing::lifetime_probe local(lives);
  co_await event;
}

TEST_CASE(
    "single_consumer_event: a coroutine destroyed while it waits frees all, and the event can be used on") {
  single_consumer_event event;
  coracle::testing::lifetimes lives;
  {
    const auto waiting = coracle_test::started(wait_with_local(event, lives));
    CHECK(lives.alive == 1);
  }
  CHECK(lives.alive == 0);
  SUBCASE("set by another") {
    event.set();
    CHECK(event.is_set());
  }
  SUBCASE("awaited by another") {
    std::vector<int> log;
    wait_and_log(event, log, 1);
    CHECK(log.empty());
    event.set();
    CHECK(log == std::vector{1});
  }
  SUBCASE("destroyed") {}
}

TEST_CASE(
    "single_consumer_event: a coroutine destroyed while it waits does not hear of a later stop request") {
  single_consumer_event event;
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

TEST_CASE(
    "single_consumer_event: a coroutine destroyed at a later await has nothing to do with it any more") {
  auto event = std::make_unique<single_consumer_event>();
  single_consumer_event later;
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

TEST_CASE("single_consumer_event: a waiter that ends inside set() frees all") {
  single_consumer_event event;
  coracle::testing::lifetimes lives;
  coracle_test::run_detached(wait_with_local(event, lives));
  CHECK(lives.alive == 1);
  event.set();
  CHECK(lives.alive == 0);
}

TEST_CASE("single_consumer_event: an event inside the coroutine that waits for it goes with it") {
  single_consumer_event* inside = nullptr;
  const auto wait_for_own = [&]() -> coracle::task<> {
    single_consumer_event event;
    inside = &event;
    co_await event;
  };
  {
    const auto waiting = coracle_test::started(wait_for_own());
    CHECK_FALSE(inside->is_set());
  }
  auto waiting = coracle_test::started(wait_for_own());
  inside->set();
  CHECK(waiting.done());
}

TEST_CASE("single_consumer_event: destroyed while a coroutine waits ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          single_consumer_event event;
          std::vector<int> log;
          wait_and_log(event, log, 1);
        }) == "coracle: a single_consumer_event was destroyed while a coroutine waits for it\n");
}

TEST_CASE("single_consumer_event: a second waiter ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          single_consumer_event event;
          std::vector<int> log;
          wait_and_log(event, log, 1);
          wait_and_log(event, log, 2);
        }) == "coracle: two coroutines await a single_consumer_event at the same time\n");
}

TEST_CASE("single_consumer_event: waiting, setting and resetting allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  single_consumer_event event, ended;
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
using event_awaiter = coracle::awaiter_type_t<single_consumer_event&>;
static_assert(sizeof(single_consumer_event) == sizeof(void*));
static_assert(std::is_nothrow_default_constructible_v<single_consumer_event>);
static_assert(!std::is_copy_constructible_v<single_consumer_event> &&
              !std::is_move_constructible_v<single_consumer_event>);
static_assert(sizeof(event_awaiter) <= 112);
static_assert(noexcept(std::declval<single_consumer_event&>().set()) &&
              noexcept(std::declval<single_consumer_event&>().reset()) &&
              noexcept(std::declval<const single_consumer_event&>().is_set()) &&
              noexcept(std::declval<single_consumer_event&>().operator co_await()));
static_assert(noexcept(std::declval<event_awaiter&>().await_ready()) &&
              noexcept(std::declval<event_awaiter&>().await_suspend(std::coroutine_handle<>())));
static_assert(std::is_void_v<coracle::await_result_t<single_consumer_event&>>);
}  // namespace
