// tests/unit/single_consumer_async_auto_reset_event_test.cpp -- the event that its one consumer resets.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/single_consumer_async_auto_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using auto_event = coracle::single_consumer_async_auto_reset_event;
using coracle_test::detached;

/// Logs 1, 2, 3 ... each time it is woken.
detached pass_and_log(auto_event& event, std::vector<int>& log, int times = 1) {
  for (int i = 1; i <= times; ++i) {
    co_await event;
    log.push_back(i);
  }
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

/// Returns true if an await does not suspend; it then consumes the set().
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

/// Waits until `value` has reached `target`; set() follows each of its increments.
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
        "coracle: a single_consumer_async_auto_reset_event was destroyed while a coroutine waits for it: "
        "stop and join it first\n");
}

TEST_CASE("single_consumer_async_auto_reset_event: a second waiter ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          auto_event event;
          std::vector<int> log;
          pass_and_log(event, log);
          pass_and_log(event, log);
        }) ==
        "coracle: two coroutines await a single_consumer_async_auto_reset_event at the same time: use an "
        "async_auto_reset_event\n");
}

// The static guarantees of the header; event_contract_test.cpp has the others.
static_assert(sizeof(auto_event) == sizeof(void*));
static_assert(sizeof(coracle::awaiter_type_t<auto_event&>) <= 112);
}  // namespace
