// tests/unit/async_barrier_stop_test.cpp -- arrivals at an async_barrier that are stopped.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_barrier.hpp>
#include <coracle/sync/async_latch.hpp>
#include <utility>
#include <vector>

#include "../support/await_and_log.hpp"
#include "../support/detached.hpp"
#include "async_barrier_members.hpp"

namespace {
using coracle::async_barrier;
using coracle_test::detached;
using coracle_test::meet_and_log;

/// Logs `name` once all have arrived, or `-name` if it is stopped before.
detached meet_or_stop(async_barrier<>& barrier, const coracle::stop_source& source, std::vector<int>& log,
                      int name) {
  auto meeting = barrier.arrive_and_wait();
  bool cancelled = false;
  try {
    co_await coracle::with_stop(std::move(meeting), source.get_token());
  } catch (const coracle::operation_cancelled&) {
    cancelled = true;
  }
  log.push_back(cancelled ? -name : name);
}

TEST_CASE(
    "async_barrier: stop requested before: nobody has arrived, also where it would have been the last") {
  coracle::stop_source source;
  source.request_stop();
  async_barrier barrier{2};
  std::vector<int> log;
  meet_or_stop(barrier, source, log, 1);
  CHECK(log == std::vector{-1});
  meet_and_log(barrier, log, 2);
  meet_or_stop(barrier, source, log, 3);
  CHECK(log == std::vector{-1, -3});
  meet_and_log(barrier, log, 4);
  CHECK(log == std::vector{-1, -3, 2, 4});
}

TEST_CASE("async_barrier: stop requested during the wait takes the arrival back; the others go on waiting") {
  coracle::stop_source source;
  async_barrier barrier{3};
  std::vector<int> log;
  meet_and_log(barrier, log, 1);
  meet_or_stop(barrier, source, log, 2);
  source.request_stop();
  CHECK(log == std::vector{-2});
  meet_and_log(barrier, log, 3);
  CHECK(log == std::vector{-2});
  SUBCASE("until it arrives again") {
    meet_and_log(barrier, log, 2);
    CHECK(log == std::vector{-2, 1, 3, 2});
  }
  SUBCASE("until it drops out, and then it is not expected any more") {
    barrier.arrive_and_drop();
    CHECK(log == std::vector{-2, 1, 3});
    meet_and_log(barrier, log, 4);
    CHECK(log == std::vector{-2, 1, 3});
    meet_and_log(barrier, log, 5);
    CHECK(log == std::vector{-2, 1, 3, 4, 5});
  }
}

TEST_CASE("async_barrier: each phase ends once, however many leave it") {
  coracle::stop_source source;
  int completed = 0;
  async_barrier barrier{3, [&]() noexcept { ++completed; }};
  const auto wait = [&]() -> coracle::task<> { co_await barrier.arrive_and_wait(); };
  const auto wait_or_stop = [&]() -> detached {
    try {
      co_await coracle::with_stop(wait(), source.get_token());
    } catch (const coracle::operation_cancelled&) {
    }
  };
  wait_or_stop();
  wait_or_stop();
  source.request_stop();
  wait_or_stop();
  CHECK(completed == 0);
  for (int i = 0; i != 3; ++i) coracle_test::run_detached(wait());
  CHECK(completed == 1);
}

TEST_CASE("async_barrier: stop requested by the completion is too late for that phase") {
  coracle::stop_source source;
  std::vector<int> log;
  async_barrier barrier{2, [&]() noexcept { source.request_stop(); }};
  const auto wait = [&]() -> detached {
    const auto meet = [&]() -> coracle::task<> {
      co_await barrier.arrive_and_wait();
      log.push_back(1);
      co_await barrier.arrive_and_wait();
    };
    try {
      co_await coracle::with_stop(meet(), source.get_token());
    } catch (const coracle::operation_cancelled&) {
      log.push_back(2);
      barrier.arrive_and_drop();
    }
  };
  wait();
  meet_and_log(barrier, log, 3, 2);
  CHECK(log == std::vector{1, 2, 3, 3});
}
}  // namespace
