// tests/unit/yield_test.cpp -- coroutines that yield to others.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/schedule.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <string>

#include "../support/detached.hpp"
#include "watched_ending.hpp"

namespace {
using coracle::run_loop;
using coracle::stop_source;
using coracle::task;
using coracle_test::detached;
using coracle_test::run_all;
using coracle_test::watch;
using coracle_test::watched_ending;

TEST_CASE("yield: goes behind what is queued on the executor") {
  run_loop loop;
  std::string order;
  const auto work = [&](char name) -> detached {
    co_await loop.schedule();
    for (int i = 0; i != 3; ++i) {
      order += name;
      co_await coracle::this_task::yield();
    }
  };
  work('a');
  work('b');
  run_all(loop);
  CHECK(order == "ababab");
}
TEST_CASE("yield: outside any executor it does not suspend") {
  int rounds = 0;
  const auto work = [&]() -> detached {
    co_await coracle::this_task::yield();
    ++rounds;
  };
  work();
  CHECK(rounds == 1);
}
TEST_CASE("yield: stop requested before, or while others run, cancels; also outside any executor") {
  run_loop loop;
  stop_source during, before;
  const auto work = [&]() -> task<> { co_await coracle::this_task::yield(); };
  watched_ending seen_during, seen_before, seen_outside;
  watch(&loop, during, work(), seen_during);
  CHECK(loop.run_one());
  CHECK_FALSE(seen_during.over);
  during.request_stop();
  run_all(loop);
  CHECK(seen_during.cancelled);
  before.request_stop();
  watch(&loop, before, work(), seen_before);
  CHECK(loop.run_one());
  CHECK(seen_before.cancelled);
  watch(nullptr, before, work(), seen_outside);
  CHECK(seen_outside.cancelled);
}
TEST_CASE("yield: a loop that yields does not keep a pool of one from anybody") {
  coracle::static_thread_pool pool{1};
  bool other_ran = false;
  const auto spin = [&]() -> task<> {
    co_await pool.schedule();
    const auto other = [&]() -> detached {
      co_await pool.schedule();
      other_ran = true;
    };
    other();
    while (!other_ran) co_await coracle::this_task::yield();
  };
  coracle::sync_wait(spin());
  CHECK(other_ran);
}
TEST_CASE("the budget: a coroutine whose awaits are always ready does not starve another on a pool of one") {
  coracle::static_thread_pool pool{1};
  coracle::async_manual_reset_event set{true};
  bool other_ran = false;
  long long awaits = 0;
  const auto spin = [&]() -> task<> {
    co_await pool.schedule();
    const auto other = [&]() -> detached {
      co_await pool.schedule();
      other_ran = true;
    };
    other();
    while (!other_ran) {
      co_await set;
      ++awaits;
    }
  };
  coracle::sync_wait(spin());
  CHECK(other_ran);
  CHECK(awaits <= 256);
}
}  // namespace
