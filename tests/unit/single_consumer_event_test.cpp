// tests/unit/single_consumer_event_test.cpp -- the event for one coroutine that stays set.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/single_consumer_event.hpp>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::single_consumer_event;
using coracle_test::await_and_log;
using coracle_test::detached;

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
          await_and_log(event, log, 1);
        }) ==
        "coracle: a single_consumer_event was destroyed while a coroutine waits for it: stop and join it "
        "first\n");
}

TEST_CASE("single_consumer_event: a second waiter ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          single_consumer_event event;
          std::vector<int> log;
          await_and_log(event, log, 1);
          await_and_log(event, log, 2);
        }) ==
        "coracle: two coroutines await a single_consumer_event at the same time: use an "
        "async_manual_reset_event\n");
}

// The static guarantees of the header; event_contract_test.cpp has the others.
static_assert(sizeof(single_consumer_event) == sizeof(void*));
static_assert(sizeof(coracle::awaiter_type_t<single_consumer_event&>) <= 112);
static_assert(noexcept(std::declval<single_consumer_event&>().reset()) &&
              noexcept(std::declval<const single_consumer_event&>().is_set()));
}  // namespace
