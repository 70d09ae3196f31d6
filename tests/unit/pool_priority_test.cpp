// tests/unit/pool_priority_test.cpp -- the priorities of a static_thread_pool.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../support/detached.hpp"

namespace {
using coracle::current_executor;
using coracle::executor;
using priority = coracle::static_thread_pool::priority;
using coracle::static_thread_pool;
using coracle::sync_wait;
using coracle::task;
using coracle_test::detached;

executor* place_of(static_thread_pool& pool, priority level) { return pool.with_priority(level).place(); }

detached log_at(static_thread_pool& pool, priority level, std::string& log, char name) {
  co_await pool.with_priority(level).schedule();
  log += name;
}

TEST_CASE("with_priority: normal is the pool itself, the others are places of their own") {
  static_thread_pool pool{1};
  CHECK(place_of(pool, priority::normal) == &pool);
  CHECK(place_of(pool, priority::high) != &pool);
  CHECK(place_of(pool, priority::low) != &pool);
  CHECK(place_of(pool, priority::low) != place_of(pool, priority::high));
}

TEST_CASE("with_priority: what waits at a higher level goes first, whatever was posted first") {
  static_thread_pool pool{1};
  std::string log;
  const auto hold = [&]() -> task<> {
    co_await pool.schedule();  // the only thread: nothing else runs until this suspends
    log_at(pool, priority::low, log, 'l');
    log_at(pool, priority::normal, log, 'n');
    log_at(pool, priority::high, log, 'h');
    log_at(pool, priority::low, log, 'l');
    log_at(pool, priority::normal, log, 'n');
    log_at(pool, priority::high, log, 'h');
    co_await pool.with_priority(priority::low).schedule();
  };
  sync_wait(hold());
  CHECK(log == "hhnnll");
}

TEST_CASE(
    "with_priority: schedule() goes behind what is queued, also at the level where the coroutine is "
    "already") {
  for (const priority level : {priority::high, priority::normal, priority::low}) {
    static_thread_pool pool{1};
    std::string log;
    const auto go_again = [&]() -> task<> {
      co_await pool.with_priority(level).schedule();
      log_at(pool, level, log, 'a');
      co_await pool.with_priority(level).schedule();
      log += 'b';
    };
    sync_wait(go_again());
    CHECK(log == "ab");
  }
}

TEST_CASE("with_priority: a coroutine belongs to its level until it goes elsewhere") {
  static_thread_pool pool{1};
  const auto work = [&](priority level) -> task<> {
    co_await pool.with_priority(level).schedule();
    CHECK(current_executor() == place_of(pool, level));
    co_await coracle::this_task::yield();
    CHECK(current_executor() == place_of(pool, level));
    co_await pool.schedule();
    CHECK(current_executor() == &pool);
  };
  for (const priority level : {priority::high, priority::normal, priority::low}) sync_wait(work(level));
}

TEST_CASE("with_priority: who is woken by an event goes on at his level, before those of a lower one") {
  static_thread_pool pool{1};
  coracle::async_manual_reset_event event;
  std::string log;
  const auto wait = [&](priority level, char name) -> task<> {
    co_await pool.with_priority(level).schedule();
    co_await event;
    CHECK(current_executor() == place_of(pool, level));
    log += name;
  };
  const auto wake = [&]() -> task<> {
    co_await pool.with_priority(priority::low).schedule();  // behind all of those
    log_at(pool, priority::normal, log, '.');
    event.set();
  };
  sync_wait(coracle::when_all(wait(priority::low, 'l'), wait(priority::normal, 'n'),
                              wait(priority::high, 'h'), wake()));
  CHECK(log == "h.nl");
}

/// Keeps coroutines ready at level `busy` until one at level `starving` has run.
void check_not_starved(std::size_t threads, priority busy, priority starving) {
  static_thread_pool pool{threads};
  std::atomic<bool> has_run{false};
  const auto spin = [&]() -> task<> {
    co_await pool.with_priority(busy).schedule();
    while (!has_run) co_await coracle::this_task::yield();
  };
  const auto wait = [&]() -> task<> {
    co_await pool.with_priority(starving).schedule();
    has_run = true;
  };
  std::vector<task<>> all;
  for (int i = 0; i != 8; ++i) all.push_back(spin());
  all.push_back(wait());
  sync_wait(coracle::when_all(std::move(all)));
  CHECK(has_run);
}
TEST_CASE("with_priority: a level that always has work starves none below it") {
  for (const std::size_t threads : {1u, 2u}) {
    check_not_starved(threads, priority::high, priority::normal);
    check_not_starved(threads, priority::high, priority::low);
    check_not_starved(threads, priority::normal, priority::low);
  }
}

TEST_CASE("with_priority: nor does work from outside starve what is in a thread's own queue") {
  static_thread_pool pool{1};
  std::atomic<bool> has_run{false};
  const auto high = [&]() -> task<> {
    co_await pool.with_priority(priority::high).schedule();
    while (!has_run) co_await coracle::this_task::yield();
  };
  const auto own = [&]() -> task<> {
    co_await pool.schedule();
    co_await pool.schedule();  // from a thread of the pool: into its own queue
    has_run = true;
  };
  sync_wait(coracle::when_all(high(), high(), own()));
  CHECK(has_run);
}

TEST_CASE("with_priority: schedule() obeys a stop request") {
  static_thread_pool pool{1};
  coracle::stop_source source;
  source.request_stop();
  const auto go = [&]() -> task<> { co_await pool.with_priority(priority::high).schedule(); };
  CHECK_THROWS_AS(sync_wait(coracle::with_stop(go(), source.get_token())), coracle::operation_cancelled);
}

TEST_CASE("with_priority: allocates nothing" * doctest::skip(!coracle::testing::allocations_are_counted)) {
  static_thread_pool pool{1};
  std::size_t allocated = 1;
  const auto work = [&]() -> task<> {
    co_await pool.schedule();
    const std::size_t before = coracle::testing::allocations();
    for (const priority level : {priority::high, priority::low, priority::normal}) {
      co_await pool.with_priority(level).schedule();
      co_await coracle::this_task::yield();
    }
    allocated = coracle::testing::allocations() - before;
  };
  sync_wait(work());
  CHECK(allocated == 0);
}

TEST_CASE("with_priority: the pool's end runs what is queued at each level") {
  int ran = 0;
  static_thread_pool* pool = nullptr;
  const auto work = [&](priority level) -> detached {
    co_await pool->with_priority(level).schedule();
    ++ran;
  };
  const auto all = [&]() -> detached {
    co_await pool->schedule();
    for (const priority level : {priority::low, priority::normal, priority::high}) work(level);
  };
  {
    static_thread_pool ends{1};
    pool = &ends;
    all();
  }
  CHECK(ran == 3);
}
}  // namespace
