// tests/unit/async_barrier_test.cpp -- coroutines that meet, phase after phase.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_barrier.hpp>
#include <coracle/sync/async_latch.hpp>
#include <coracle/testing/allocations.hpp>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"
#include "async_barrier_members.hpp"

namespace {
using coracle::async_barrier;
using coracle_test::detached;
using coracle_test::meet_and_log;

/// Logs `name`, or `-name` if it does not run on `loop`.
template <class Barrier>
detached meet_on(coracle::run_loop& loop, Barrier& barrier, std::vector<int>& log, int name) {
  co_await loop.schedule();
  co_await barrier.arrive_and_wait();
  log.push_back(coracle::current_executor() == &loop ? name : -name);
}

TEST_CASE("async_barrier: three work in rounds, and their results are published, as the header shows") {
  constexpr int rounds = 2;
  std::vector<int> results, published;
  async_barrier round{3, [&]() noexcept {
                        published.push_back(static_cast<int>(results.size()));
                        results.clear();
                      }};
  const auto work = [&](int name) -> detached {
    for (int i = 0; i != rounds; ++i) {
      results.push_back(name);
      co_await round.arrive_and_wait();
    }
  };
  for (int name = 0; name != 3; ++name) work(name);
  CHECK(published == std::vector{3, 3});
}

TEST_CASE("async_barrier: waiters suspend until all have arrived, and are woken in the order of arrival") {
  async_barrier barrier{4};
  std::vector<int> log;
  for (int name = 1; name != 4; ++name) meet_and_log(barrier, log, name);
  CHECK(log.empty());
  meet_and_log(barrier, log, 4);
  CHECK(log == std::vector{1, 2, 3, 4});
}

TEST_CASE("async_barrier: one that expects a single coroutine never suspends it") {
  int completed = 0;
  async_barrier barrier{1, [&]() noexcept { ++completed; }};
  std::vector<int> log;
  meet_and_log(barrier, log, 1, 3);
  CHECK(log == std::vector{1, 1, 1});
  CHECK(completed == 3);
}

TEST_CASE("async_barrier: nobody enters a phase before all have arrived at the end of the last one") {
  constexpr int members = 3, phases = 4;
  async_barrier barrier{members};
  std::vector<int> log;
  const auto run = [&]() -> detached {
    for (int phase = 0; phase != phases; ++phase) {
      log.push_back(phase);
      co_await barrier.arrive_and_wait();
    }
  };
  for (int i = 0; i != members; ++i) run();
  CHECK(log == std::vector{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3});
}

TEST_CASE("async_barrier: woken coroutines that arrive again wait for the one that woke them") {
  async_barrier barrier{3};
  std::vector<int> log;
  meet_and_log(barrier, log, 1, 2);
  meet_and_log(barrier, log, 2, 2);
  meet_and_log(barrier, log, 3, 1);
  CHECK(log == std::vector{1, 2, 3});
  meet_and_log(barrier, log, 4, 1);
  CHECK(log == std::vector{1, 2, 3, 1, 2, 4});
}

TEST_CASE("async_barrier: the completion runs once a phase, after all arrived and before anybody goes on") {
  std::vector<int> log;
  async_barrier barrier{2, [&]() noexcept { log.push_back(0); }};
  const auto run = [&](int name) -> detached {
    for (int i = 0; i != 2; ++i) {
      log.push_back(name);
      co_await barrier.arrive_and_wait();
      log.push_back(-name);
    }
  };
  run(1);
  run(2);
  CHECK(log == std::vector{1, 2, 0, -1, 1, -2, 2, 0, -1, -2});
}

TEST_CASE("async_barrier: the completion runs on the thread and the executor of the last to arrive") {
  coracle::run_loop loop;
  std::thread::id completed_on;
  const coracle::executor* executor = nullptr;
  async_barrier barrier{2, [&]() noexcept {
                          completed_on = std::this_thread::get_id();
                          executor = coracle::current_executor();
                        }};
  std::vector<int> log;
  meet_and_log(barrier, log, 1);
  meet_on(loop, barrier, log, 2);
  std::thread::id other;
  std::thread([&] {
    other = std::this_thread::get_id();
    loop.run_one();
  }).join();
  CHECK(completed_on == other);
  CHECK(executor == &loop);
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("async_barrier: a completion function may be move-only and keeps its state") {
  auto count = std::make_unique<int>(0);
  const int& counted = *count;
  async_barrier barrier{1, [owned = std::move(count)]() mutable noexcept { ++*owned; }};
  std::vector<int> log;
  meet_and_log(barrier, log, 1, 3);
  CHECK(counted == 3);
}

TEST_CASE("async_barrier: who drops out counts as arrived, and is not expected any more") {
  async_barrier barrier{3};
  std::vector<int> log;
  meet_and_log(barrier, log, 1, 2);
  barrier.arrive_and_drop();
  CHECK(log.empty());
  meet_and_log(barrier, log, 2, 2);
  CHECK(log == std::vector{1, 2, 1, 2});
}

TEST_CASE("async_barrier: the last to arrive may drop out: it completes the phase and wakes the others") {
  std::vector<int> log;
  async_barrier barrier{3, [&]() noexcept { log.push_back(0); }};
  meet_and_log(barrier, log, 1);
  meet_and_log(barrier, log, 2);
  barrier.arrive_and_drop();
  CHECK(log == std::vector{0, 1, 2});
  meet_and_log(barrier, log, 3);
  meet_and_log(barrier, log, 4);
  CHECK(log == std::vector{0, 1, 2, 0, 3, 4});
}

TEST_CASE("async_barrier: when all have dropped out the last phase is completed") {
  int completed = 0;
  async_barrier barrier{3, [&]() noexcept { ++completed; }};
  barrier.arrive_and_drop();
  barrier.arrive_and_drop();
  CHECK(completed == 0);
  barrier.arrive_and_drop();
  CHECK(completed == 1);
}

TEST_CASE("async_barrier: a waiter outside any executor runs inside the last arrival, on its thread") {
  async_barrier barrier{2};
  std::thread::id waiter_ran_on;
  const auto wait = [&]() -> detached {
    co_await coracle::inline_scheduler{}.schedule();
    co_await barrier.arrive_and_wait();
    waiter_ran_on = std::this_thread::get_id();
  };
  wait();
  std::thread::id last, seen_after_arrival;
  std::thread([&] {
    last = std::this_thread::get_id();
    barrier.arrive_and_drop();
    seen_after_arrival = waiter_ran_on;
  }).join();
  CHECK(seen_after_arrival == last);
  CHECK(seen_after_arrival != std::this_thread::get_id());
}

TEST_CASE("async_barrier: each waiter is posted to its own executor, the last to arrive is not") {
  coracle::run_loop first, second;
  async_barrier barrier{4};
  std::vector<int> log;
  meet_on(first, barrier, log, 1);
  meet_on(second, barrier, log, 2);
  meet_on(first, barrier, log, 3);
  CHECK(first.run_pending() == 2);
  CHECK(second.run_pending() == 1);
  meet_on(second, barrier, log, 4);
  CHECK(second.run_one());
  CHECK(log == std::vector{4});
  CHECK(first.run_one());
  CHECK(second.run_one());
  CHECK(first.run_one());
  CHECK(log == std::vector{4, 1, 2, 3});
  CHECK_FALSE(first.run_one());
  CHECK_FALSE(second.run_one());
}

TEST_CASE("async_barrier: members on a pool and on plain threads see what all did before the barrier") {
  constexpr int members = 4, phases = 100;
  coracle::static_thread_pool pool{2};
  int written[members] = {}, missing = 0;
  async_barrier barrier{members, [&]() noexcept {
                          for (const int each : written) missing += each != written[0];
                        }};
  coracle::async_latch ended{members};
  const auto run = [&](bool on_pool, int number) -> detached {
    if (on_pool) co_await pool.schedule();
    for (int phase = 1; phase <= phases; ++phase) {
      written[number] = phase;
      co_await barrier.arrive_and_wait();
    }
    ended.count_down();
  };
  run(true, 0);
  run(true, 1);
  std::thread other([&] { run(false, 2); });
  run(false, 3);
  coracle::sync_wait(ended);
  other.join();
  CHECK(missing == 0);
}

TEST_CASE("async_barrier: an operation that is never awaited has not arrived") {
  async_barrier barrier{2};
  std::vector<int> log;
  {
    [[maybe_unused]] const auto forgotten = barrier.arrive_and_wait();
  }
  meet_and_log(barrier, log, 1);
  CHECK(log.empty());
  meet_and_log(barrier, log, 2);
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("async_barrier: the last waiter may destroy it inside the last arrival") {
  auto barrier = std::make_unique<async_barrier<>>(3);
  std::vector<int> log;
  meet_and_log(*barrier, log, 1);
  const auto meet_and_destroy = [&]() -> detached {
    co_await barrier->arrive_and_wait();
    barrier.reset();
  };
  SUBCASE("which waits") {
    meet_and_destroy();
    meet_and_log(*barrier, log, 2);
    CHECK(log == std::vector{1, 2});
  }
  SUBCASE("which drops out") {
    meet_and_destroy();
    barrier->arrive_and_drop();
    CHECK(log == std::vector{1});
  }
  SUBCASE("which is its own") {
    meet_and_log(*barrier, log, 2);
    meet_and_destroy();
    CHECK(log == std::vector{1, 2});
  }
  CHECK(barrier == nullptr);
}

TEST_CASE("async_barrier: destroyed while coroutines wait ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          async_barrier barrier{2};
          std::vector<int> log;
          meet_and_log(barrier, log, 1);
        }) ==
        "coracle: an async_barrier was destroyed while coroutines wait at it: stop and join them first\n");
}

TEST_CASE("async_barrier: more arrivals than expected end the program and say so") {
  const std::string message =
      "coracle: more coroutines arrived at an async_barrier than it expects: make it for all of them, and "
      "let each arrive once a phase\n";
  CHECK(coracle_test::abort_message([] { async_barrier{0}.arrive_and_drop(); }) == message);
  CHECK(coracle_test::abort_message([] {
          using barrier = async_barrier<void (*)() noexcept>;
          static barrier* meeting;
          static bool again = true;
          barrier arrives_again{1, []() noexcept {
                                  if (std::exchange(again, false)) meeting->arrive_and_drop();
                                }};
          meeting = &arrives_again;
          std::vector<int> log;
          meet_and_log(arrives_again, log, 1);
        }) == message);
}

TEST_CASE("async_barrier: an impossible number of coroutines ends the program and says so") {
  const std::string message =
      "coracle: an async_barrier was made for a negative number of coroutines, or for more than max(): give "
      "it one within that range\n";
  CHECK(coracle_test::abort_message([] { async_barrier{-1}; }) == message);
  CHECK(coracle_test::abort_message([] { async_barrier{async_barrier<>::max() + 1}; }) == message);
}

TEST_CASE("async_barrier: it can expect as many as it says") {
  async_barrier barrier{async_barrier<>::max()};
  std::vector<int> log;
  for (int i = 0; i != 1000; ++i) barrier.arrive_and_drop();
  CHECK(log.empty());
}

TEST_CASE("async_barrier: meeting allocates nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_barrier barrier{3};
  int met = 0;
  const auto meet = [&]() -> detached {
    for (int i = 0; i != 4; ++i) {
      co_await barrier.arrive_and_wait();
      ++met;
    }
  };
  coracle::run_loop loop;
  const auto meet_on_loop = [&]() -> detached {
    co_await loop.schedule();
    for (int i = 0; i != 4; ++i) {
      co_await barrier.arrive_and_wait();
      ++met;
    }
  };
  meet();
  meet();
  meet_on_loop();
  const auto before = coracle::testing::allocations();
  loop.run_pending();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(met == 12);
}

// The static guarantees of the header.
using barrier_awaiter = async_barrier<>::arrive_operation;
static_assert(sizeof(async_barrier<>) == 32);
static_assert(!std::is_copy_constructible_v<async_barrier<>> &&
              !std::is_move_constructible_v<async_barrier<>>);
static_assert(!std::is_convertible_v<std::ptrdiff_t, async_barrier<>>);
static_assert(noexcept(async_barrier{1}) && noexcept(std::declval<async_barrier<>&>().arrive_and_wait()) &&
              noexcept(std::declval<async_barrier<>&>().arrive_and_drop()));
static_assert(noexcept(std::declval<barrier_awaiter&>().await_ready()) &&
              noexcept(std::declval<barrier_awaiter&>().await_suspend(std::coroutine_handle<>())));
static_assert(std::is_void_v<coracle::await_result_t<barrier_awaiter>>);
}  // namespace
