// tests/unit/single_consumer_async_auto_reset_event_test.cpp -- the gate that closes behind its one consumer.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/single_consumer_async_auto_reset_event.hpp>
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
using auto_event = coracle::single_consumer_async_auto_reset_event;
using coracle_test::detached;

/// Logs 1, 2, 3 ... as it is let through.
detached pass_and_log(auto_event& event, std::vector<int>& log, int times = 1) {
  for (int i = 1; i <= times; ++i) {
    co_await event;
    log.push_back(i);
  }
}
/// Logs `name`, or `-name` if it does not run on `loop`.
detached wait_on(coracle::run_loop& loop, auto_event& event, std::vector<int>& log, int name) {
  co_await loop.schedule();
  co_await event;
  log.push_back(coracle::current_executor() == &loop ? name : -name);
}

TEST_CASE("single_consumer_async_auto_reset_event: work is done after each set(), as the header shows") {
  auto_event work_added;
  int work = 0, done = 0;
  const auto do_all_work = [&]() -> detached {
    for (; done != 3;) {
      co_await work_added;
      done += std::exchange(work, 0);
    }
  };
  do_all_work();
  work = 2;
  work_added.set();
  CHECK(done == 2);
  work = 1;
  work_added.set();
  CHECK(done == 3);
}

TEST_CASE("single_consumer_async_auto_reset_event: one that starts set lets the consumer through once") {
  auto_event event{true};
  std::vector<int> log;
  pass_and_log(event, log, 2);
  CHECK(log == std::vector{1});
  event.set();
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("single_consumer_async_auto_reset_event: each set() lets the consumer through once") {
  auto_event event;
  std::vector<int> log;
  pass_and_log(event, log, 3);
  CHECK(log.empty());
  for (int sets = 1; sets != 4; ++sets) {
    event.set();
    CHECK(static_cast<int>(log.size()) == sets);
  }
}

TEST_CASE(
    "single_consumer_async_auto_reset_event: without the consumer any number of set() is remembered once") {
  auto_event event;
  std::vector<int> log;
  for (int i = 0; i != 3; ++i) event.set();
  pass_and_log(event, log, 2);
  CHECK(log == std::vector{1});
  event.set();
  CHECK(log == std::vector{1, 2});
}

/// True: an await would go on at once; then it has used the set() up.
bool passes(auto_event& event) {
  auto waiting = event.operator co_await();
  if (waiting.await_suspend(std::noop_coroutine())) return false;
  waiting.await_resume();
  return true;
}

TEST_CASE("single_consumer_async_auto_reset_event: an await takes the set() with it, without suspending") {
  auto_event event{true};
  CHECK(passes(event));
  CHECK_FALSE(passes(event));
}

TEST_CASE(
    "single_consumer_async_auto_reset_event: a set() by the consumer, woken by one, is for its next await") {
  auto_event event;
  std::vector<int> log;
  const auto consume = [&]() -> detached {
    co_await event;
    log.push_back(1);
    event.set();
    co_await event;
    log.push_back(2);
    co_await event;
    log.push_back(3);
  };
  consume();
  event.set();
  CHECK(log == std::vector{1, 2});
  event.set();
  CHECK(log == std::vector{1, 2, 3});
}

TEST_CASE(
    "single_consumer_async_auto_reset_event: outside any executor the consumer runs inside set(), on its "
    "thread") {
  auto_event event;
  std::thread::id consumer_ran_on;
  const auto wait = [&]() -> detached {
    co_await coracle::inline_scheduler{}.schedule();
    co_await event;
    consumer_ran_on = std::this_thread::get_id();
  };
  wait();
  std::thread::id setter, seen_after_set;
  std::thread([&] {
    setter = std::this_thread::get_id();
    event.set();
    seen_after_set = consumer_ran_on;
  }).join();
  CHECK(seen_after_set == setter);
  CHECK(seen_after_set != std::this_thread::get_id());
}

TEST_CASE(
    "single_consumer_async_auto_reset_event: a consumer on a run_loop is posted there, set() does not run "
    "it") {
  coracle::run_loop loop;
  auto_event event;
  std::vector<int> log;
  wait_on(loop, event, log, 1);
  CHECK(loop.run_one());
  event.set();
  CHECK(log.empty());
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK_FALSE(loop.run_one());
}

TEST_CASE(
    "single_consumer_async_auto_reset_event: stop requested before the await: it is cancelled, and takes no "
    "set() with it") {
  auto_event event{true};
  coracle::stop_source source;
  source.request_stop();
  std::vector<int> log;
  coracle_test::await_and_log(event, source, log, 1);
  CHECK(log == std::vector{-1});
  pass_and_log(event, log);
  CHECK(log == std::vector{-1, 1});
}

TEST_CASE(
    "single_consumer_async_auto_reset_event: stop requested during the wait ends it; the next set() is for "
    "others") {
  auto_event event;
  coracle::stop_source source;
  std::vector<int> log;
  coracle_test::await_and_log(event, source, log, 1);
  source.request_stop();
  CHECK(log == std::vector{-1});
  event.set();
  event.set();
  pass_and_log(event, log, 2);
  CHECK(log == std::vector{-1, 1});
  event.set();
}

TEST_CASE("single_consumer_async_auto_reset_event: the consumer may destroy it inside set()") {
  auto event = std::make_unique<auto_event>();
  const auto wait_and_destroy = [&]() -> detached {
    co_await *event;
    event.reset();
  };
  wait_and_destroy();
  event->set();
  CHECK(event == nullptr);
}

TEST_CASE(
    "single_consumer_async_auto_reset_event: it may be gone when the consumer that it has woken is resumed") {
  coracle::run_loop loop;
  auto event = std::make_unique<auto_event>();
  std::vector<int> log;
  wait_on(loop, *event, log, 1);
  CHECK(loop.run_one());
  event->set();
  event.reset();
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
}

coracle::task<> wait_with_local(auto_event& event, coracle::testing::lifetimes& lives) {
  const coracle::testing::lifetime_probe local(lives);
  co_await event;
}

TEST_CASE(
    "single_consumer_async_auto_reset_event: a coroutine destroyed while it waits frees all, and takes no "
    "set() with it") {
  auto_event event;
  coracle::testing::lifetimes lives;
  {
    const auto waiting = coracle_test::started(wait_with_local(event, lives));
    CHECK(lives.alive == 1);
  }
  CHECK(lives.alive == 0);
  std::vector<int> log;
  SUBCASE("set, then awaited by another") {
    event.set();
    pass_and_log(event, log);
  }
  SUBCASE("awaited by another, then set") {
    pass_and_log(event, log);
    CHECK(log.empty());
    event.set();
  }
  CHECK(log == std::vector{1});
}

TEST_CASE("single_consumer_async_auto_reset_event: a waiter that ends inside set() frees all") {
  auto_event event;
  coracle::testing::lifetimes lives;
  coracle_test::run_detached(wait_with_local(event, lives));
  CHECK(lives.alive == 1);
  event.set();
  CHECK(lives.alive == 0);
}

/// Waits until `value` has come to `target`; set() follows each of its steps.
coracle::task<int> wait_for(auto_event& changed, const std::atomic<int>& value, int target) {
  int seen;
  while ((seen = value.load(std::memory_order_relaxed)) < target) co_await changed;
  co_return seen;
}

TEST_CASE("single_consumer_async_auto_reset_event: a consumer and producers on a pool leave no frame behind" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  constexpr int rounds = 20, producers = 4;
  int right = 0;
  const auto run = [&right] {
    coracle::static_thread_pool pool{2};
    for (int round = 0; round != rounds; ++round) {
      auto_event changed;
      std::atomic<int> value{0};
      const auto produce = [&]() -> coracle::task<> {
        co_await pool.schedule();
        value.fetch_add(1, std::memory_order_relaxed);
        changed.set();
      };
      const auto consume = [&]() -> coracle::task<int> {
        co_await pool.schedule();
        co_return co_await wait_for(changed, value, producers);
      };
      std::vector<coracle::task<>> all;
      for (int i = 0; i != producers; ++i) all.push_back(produce());
      auto both = coracle::sync_wait(coracle::when_all(consume(), coracle::when_all(std::move(all))));
      right += std::get<0>(both) == producers;
    }
  };
  run();
  coracle::trim_frame_memory();
  const auto before = coracle::testing::live_allocations();
  run();
  coracle::trim_frame_memory();
  const auto after = coracle::testing::live_allocations();
  CHECK(after == before);
  CHECK(right == 2 * rounds);
}

TEST_CASE(
    "single_consumer_async_auto_reset_event: destroyed while a coroutine waits ends the program and says "
    "so") {
  CHECK(coracle_test::abort_message([] {
          auto_event event;
          std::vector<int> log;
          pass_and_log(event, log);
        }) ==
        "coracle: a single_consumer_async_auto_reset_event was destroyed while a coroutine waits for it\n");
}

TEST_CASE("single_consumer_async_auto_reset_event: a second waiter ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          auto_event event;
          std::vector<int> log;
          pass_and_log(event, log);
          pass_and_log(event, log);
        }) == "coracle: two coroutines await a single_consumer_async_auto_reset_event at the same time\n");
}

TEST_CASE("single_consumer_async_auto_reset_event: waiting and setting allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  auto_event event;
  int passes = 0;
  const auto consume = [&]() -> detached {
    for (; passes != 3; ++passes) co_await event;
  };
  consume();
  const auto before = coracle::testing::allocations();
  for (int i = 0; i != 3; ++i) event.set();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(passes == 3);
}

// What the header promises to the compiler.
using event_awaiter = coracle::awaiter_type_t<auto_event&>;
static_assert(sizeof(auto_event) == sizeof(void*));
static_assert(std::is_nothrow_default_constructible_v<auto_event>);
static_assert(!std::is_copy_constructible_v<auto_event> && !std::is_move_constructible_v<auto_event>);
static_assert(sizeof(event_awaiter) <= 112);
static_assert(noexcept(std::declval<auto_event&>().set()) &&
              noexcept(std::declval<auto_event&>().operator co_await()));
static_assert(noexcept(std::declval<event_awaiter&>().await_ready()) &&
              noexcept(std::declval<event_awaiter&>().await_suspend(std::coroutine_handle<>())));
static_assert(std::is_void_v<coracle::await_result_t<auto_event&>>);
}  // namespace
