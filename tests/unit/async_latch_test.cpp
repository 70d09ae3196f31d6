// tests/unit/async_latch_test.cpp -- coroutines that wait until a count has reached zero.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_latch.hpp>
#include <coracle/testing/allocations.hpp>
#include <limits>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::async_latch;
using coracle_test::await_and_log;
using coracle_test::await_and_log_on;
using coracle_test::detached;

TEST_CASE("async_latch: three parts are waited for by one, as the header shows") {
  std::vector<int> log;
  async_latch parts{3};
  const auto wait_for_parts = [&]() -> detached {
    co_await parts;
    log.push_back(0);
  };
  wait_for_parts();
  for (int part = 1; part != 4; ++part) {
    log.push_back(part);
    parts.count_down();
  }
  CHECK(log == std::vector{1, 2, 3, 0});
}

TEST_CASE("async_latch: a count of zero, or less, is ready at once") {
  for (const std::ptrdiff_t count : {std::ptrdiff_t{0}, std::ptrdiff_t{-3}}) {
    const async_latch latch{count};
    CHECK(latch.is_ready());
    std::vector<int> log;
    await_and_log(latch, log, 1);
    CHECK(log == std::vector{1});
  }
}

TEST_CASE("async_latch: waiters suspend until the count is zero, and are woken first come, first served") {
  async_latch latch{2};
  std::vector<int> log;
  for (int name = 1; name != 4; ++name) await_and_log(latch, log, name);
  CHECK(log.empty());
  latch.count_down();
  CHECK(log.empty());
  CHECK_FALSE(latch.is_ready());
  await_and_log(latch, log, 4);
  latch.count_down();
  CHECK(log == std::vector{1, 2, 3, 4});
  CHECK(latch.is_ready());
}

TEST_CASE("async_latch: a waiter that comes after the count reached zero does not suspend") {
  async_latch latch{1};
  std::vector<int> log;
  latch.count_down();
  await_and_log(latch, log, 1);
  await_and_log(latch, log, 2);
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("async_latch: count_down(n) takes n at once, count_down(0) nothing") {
  async_latch latch{5};
  std::vector<int> log;
  await_and_log(latch, log, 1);
  latch.count_down(3);
  latch.count_down(0);
  latch.count_down(1);
  CHECK_FALSE(latch.is_ready());
  latch.count_down(0);
  CHECK(log.empty());
  latch.count_down(1);
  CHECK(log == std::vector{1});
}

TEST_CASE("async_latch: a count that goes below zero is ready, and counting on has no effect") {
  async_latch latch{3};
  std::vector<int> log;
  await_and_log(latch, log, 1);
  latch.count_down(5);
  CHECK(log == std::vector{1});
  latch.count_down();
  latch.count_down(0);
  CHECK(latch.is_ready());
  await_and_log(latch, log, 2);
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("async_latch: the greatest count can be taken at once") {
  constexpr auto most = std::numeric_limits<std::ptrdiff_t>::max();
  async_latch latch{most};
  latch.count_down(most - 1);
  CHECK_FALSE(latch.is_ready());
  latch.count_down();
  CHECK(latch.is_ready());
}

TEST_CASE("async_latch: a waiter outside any executor runs inside the last count_down(), on its thread") {
  async_latch latch{2};
  std::thread::id waiter_ran_on;
  const auto wait = [&]() -> detached {
    co_await coracle::inline_scheduler{}.schedule();
    co_await latch;
    waiter_ran_on = std::this_thread::get_id();
  };
  wait();
  latch.count_down();
  std::thread::id counter, seen_after_count;
  std::thread([&] {
    counter = std::this_thread::get_id();
    latch.count_down();
    seen_after_count = waiter_ran_on;
  }).join();
  CHECK(seen_after_count == counter);
  CHECK(seen_after_count != std::this_thread::get_id());
}

TEST_CASE("async_latch: each waiter is posted to its own executor, count_down() does not run it") {
  coracle::run_loop first, second;
  async_latch latch{1};
  std::vector<int> log;
  await_and_log_on(first, latch, log, 1);
  await_and_log_on(second, latch, log, 2);
  await_and_log_on(first, latch, log, 3);
  CHECK(first.run_pending() == 2);
  CHECK(second.run_pending() == 1);
  latch.count_down();
  CHECK(log.empty());
  CHECK(second.run_pending() == 1);
  CHECK(first.run_pending() == 2);
  CHECK(log == std::vector{2, 1, 3});
}

TEST_CASE("async_latch: an await that does not suspend stays on its executor without a post") {
  coracle::run_loop loop;
  const async_latch latch{0};
  std::vector<int> log;
  await_and_log_on(loop, latch, log, 1);
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("async_latch: sync_wait sees what pool threads wrote before they counted down") {
  constexpr int workers = 8;
  coracle::static_thread_pool pool{2};
  async_latch done{workers};
  int written[workers] = {};
  const auto work = [&](int number) -> detached {
    co_await pool.schedule();
    written[number] = number + 1;
    done.count_down();
  };
  for (int i = 0; i != workers; ++i) work(i);
  coracle::sync_wait(done);
  int sum = 0;
  for (const int each : written) sum += each;
  CHECK(sum == 36);
}

TEST_CASE("async_latch: stop requested before or during the wait ends it, and the count is as it was") {
  coracle::stop_source during, before;
  async_latch latch{2};
  std::vector<int> log;
  await_and_log(latch, during, log, 1);
  await_and_log(latch, log, 2);
  latch.count_down();
  during.request_stop();
  CHECK(log == std::vector{-1});
  CHECK_FALSE(latch.is_ready());
  latch.count_down();
  CHECK(latch.is_ready());
  CHECK(log == std::vector{-1, 2});
  before.request_stop();
  await_and_log(latch, before, log, 3);
  CHECK(log == std::vector{-1, 2, -3});
}

TEST_CASE(
    "async_latch: stop requested after the last count_down() has no effect, though the waiter has not run") {
  coracle::stop_source source;
  coracle::run_loop loop;
  async_latch latch{1};
  std::vector<int> log;
  const auto wait = [&]() -> detached {
    co_await loop.schedule();
    await_and_log(latch, source, log, 1);
  };
  wait();
  loop.run_pending();
  latch.count_down();
  source.request_stop();
  loop.run_pending();
  CHECK(log == std::vector{1});
}

TEST_CASE("async_latch: the last waiter may destroy it inside count_down()") {
  auto latch = std::make_unique<async_latch>(2);
  std::vector<int> log;
  await_and_log(*latch, log, 1);
  const auto wait_and_destroy = [&]() -> detached {
    co_await *latch;
    latch.reset();
  };
  wait_and_destroy();
  latch->count_down();
  latch->count_down();
  CHECK(latch == nullptr);
  CHECK(log == std::vector{1});
}

TEST_CASE("async_latch: a waiter that came late and did not suspend may destroy it while another is woken") {
  auto latch = std::make_unique<async_latch>(1);
  std::vector<int> log;
  const auto destroy = [&]() -> detached {
    co_await *latch;
    latch.reset();
    log.push_back(2);
  };
  const auto wait = [&]() -> detached {
    co_await *latch;
    log.push_back(1);
    destroy();
  };
  wait();
  latch->count_down();
  CHECK(log == std::vector{1, 2});
  CHECK(latch == nullptr);
}

TEST_CASE("async_latch: destroyed while a coroutine waits ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          const async_latch latch{1};
          std::vector<int> log;
          await_and_log(latch, log, 1);
        }) ==
        "coracle: an async_latch was destroyed while coroutines wait for it: stop and join them first\n");
}

TEST_CASE("async_latch: counting up ends the program and says so") {
  CHECK(coracle_test::abort_message([] { async_latch{1}.count_down(-1); }) ==
        "coracle: an async_latch counts down only: count_down() was given a negative number\n");
}

TEST_CASE("async_latch: waiting and counting allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_latch first{2}, second{1};
  const auto wait = [&]() -> detached {
    co_await first;
    co_await second;
  };
  wait();
  wait();
  const auto before = coracle::testing::allocations();
  first.count_down();
  first.count_down();
  second.count_down();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
}

// The static guarantees of the header.
using latch_awaiter = coracle::awaiter_type_t<const async_latch&>;
static_assert(sizeof(async_latch) == 32);
static_assert(!std::is_copy_constructible_v<async_latch> && !std::is_move_constructible_v<async_latch>);
static_assert(!std::is_convertible_v<std::ptrdiff_t, async_latch>);
static_assert(noexcept(async_latch{1}) && noexcept(std::declval<async_latch&>().count_down()) &&
              noexcept(std::declval<const async_latch&>().is_ready()) &&
              noexcept(std::declval<const async_latch&>().operator co_await()));
static_assert(noexcept(std::declval<latch_awaiter&>().await_ready()) &&
              noexcept(std::declval<latch_awaiter&>().await_suspend(std::coroutine_handle<>())));
static_assert(std::is_void_v<coracle::await_result_t<async_latch&>>);
}  // namespace
