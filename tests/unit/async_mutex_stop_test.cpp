// tests/unit/async_mutex_stop_test.cpp -- waits that are stopped, or lose a race.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <vector>

#include "../support/detached.hpp"
#include "../support/is_free.hpp"
#include "../support/stoppable.hpp"
#include "async_mutex_waiters.hpp"

namespace {
using coracle::async_mutex;
using coracle_test::detached;
using coracle_test::is_free;
using coracle_test::lock_and_log;
using coracle_test::run_stoppable;
using coracle_test::run_stoppable_on;

TEST_CASE("async_mutex: stop requested before the await: a free mutex is not locked either") {
  async_mutex mutex;
  coracle::stop_source stop;
  std::vector<int> log;
  stop.request_stop();
  run_stoppable(stop.get_token(), mutex.lock_async(), log, 1);
  run_stoppable(stop.get_token(), mutex.scoped_lock_async(), log, 2);
  CHECK(log == std::vector{-1, -2});
  REQUIRE(mutex.try_lock());
  run_stoppable(stop.get_token(), mutex.lock_async(), log, 3);
  CHECK(log.back() == -3);
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_mutex: a stop request ends the wait, the others keep their order") {
  async_mutex mutex;
  coracle::stop_source stops[5];
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  for (int i = 0; i != 5; ++i) run_stoppable(stops[i].get_token(), mutex.lock_async(), log, i + 1);
  stops[2].request_stop();
  stops[4].request_stop();
  stops[0].request_stop();
  CHECK(log == std::vector{-3, -5, -1});
  mutex.unlock();
  CHECK(log.back() == 2);
  lock_and_log(mutex, log, 6);
  mutex.unlock();
  CHECK(log.back() == 4);
  mutex.unlock();
  CHECK(log.back() == 6);
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_mutex: when the only waiter is cancelled unlock() leaves the mutex free") {
  async_mutex mutex;
  coracle::stop_source stop;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  run_stoppable(stop.get_token(), mutex.scoped_lock_async(), log, 1);
  stop.request_stop();
  CHECK(log == std::vector{-1});
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_mutex: a stop request after the lock was handed over has no effect") {
  coracle::run_loop loop;
  async_mutex mutex;
  coracle::stop_source stop;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  run_stoppable_on(stop.get_token(), loop, mutex.lock_async(), log, 1);
  CHECK(loop.run_one());
  for (int in_vain = 0; in_vain != 4; ++in_vain) {
    mutex.unlock();
    REQUIRE(mutex.try_lock());
    CHECK(loop.run_one());
  }
  mutex.unlock();
  stop.request_stop();
  CHECK(log.empty());
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("async_mutex: a waiter that was overtaken on its way waits again, and can be stopped") {
  coracle::run_loop loop;
  async_mutex mutex;
  coracle::stop_source stop;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  run_stoppable_on(stop.get_token(), loop, mutex.lock_async(), log, 1);
  CHECK(loop.run_one());
  mutex.unlock();
  REQUIRE(mutex.try_lock());
  CHECK(loop.run_one());
  CHECK(log.empty());
  stop.request_stop();
  CHECK(loop.run_one());
  CHECK(log == std::vector{-1});
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_mutex: a waiter that is stopped on its way takes nothing, and lets the next in") {
  coracle::run_loop loop;
  async_mutex mutex;
  coracle::stop_source stop;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  run_stoppable_on(stop.get_token(), loop, mutex.lock_async(), log, 1);
  run_stoppable_on({}, loop, mutex.lock_async(), log, 2);
  CHECK(loop.run_pending() == 2);
  mutex.unlock();
  stop.request_stop();
  CHECK(log.empty());
  SUBCASE("that waits where it runs") { CHECK(loop.run_one()); }
  SUBCASE("once it is unlocked again") {
    REQUIRE(mutex.try_lock());
    CHECK(loop.run_one());
    CHECK_FALSE(loop.run_one());
    mutex.unlock();
  }
  CHECK(log == std::vector{-1});
  CHECK(loop.run_one());
  CHECK(log == std::vector{-1, 2});
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_mutex: a waiter that is stopped on its way leaves the mutex free if nobody else waits") {
  coracle::run_loop loop;
  async_mutex mutex;
  coracle::stop_source stop;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  run_stoppable_on(stop.get_token(), loop, mutex.lock_async(), log, 1);
  CHECK(loop.run_one());
  mutex.unlock();
  stop.request_stop();
  CHECK(loop.run_one());
  CHECK(log == std::vector{-1});
  CHECK(is_free(mutex));
}

TEST_CASE("async_mutex: a waiter that is stopped while another is on its way leaves the queue") {
  coracle::run_loop loop;
  async_mutex mutex;
  coracle::stop_source stop;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  run_stoppable_on({}, loop, mutex.lock_async(), log, 1);
  run_stoppable_on(stop.get_token(), loop, mutex.lock_async(), log, 2);
  CHECK(loop.run_pending() == 2);
  mutex.unlock();
  stop.request_stop();
  CHECK(loop.run_pending() == 2);
  CHECK(log == std::vector{1, -2});
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_mutex: a waiter that loses its choice on its way takes nothing, and lets the next in") {
  coracle::run_loop loop;
  async_mutex left, right;
  std::vector<int> log;
  const auto either = [&]() -> detached {
    co_await loop.schedule();
    const auto got = co_await coracle::when_any(left.scoped_lock_async(), right.scoped_lock_async());
    log.push_back(static_cast<int>(got.index()) + 1);
  };
  REQUIRE(left.try_lock());
  REQUIRE(right.try_lock());
  either();
  run_stoppable_on({}, loop, left.lock_async(), log, 3);
  run_stoppable_on({}, loop, right.lock_async(), log, 4);
  CHECK(loop.run_pending() == 3);
  left.unlock();
  right.unlock();  // both are on their way to it
  while (loop.run_one()) {
  }
  std::sort(log.begin(), log.end());
  CHECK(log == std::vector{1, 3, 4});
  left.unlock();
  right.unlock();
  CHECK(is_free(left));
  CHECK(is_free(right));
}

TEST_CASE("async_mutex: a cancelled waiter goes on where it suspended, not inside request_stop()") {
  coracle::run_loop loop;
  async_mutex mutex;
  coracle::stop_source stop;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  run_stoppable_on(stop.get_token(), loop, mutex.lock_async(), log, 1);
  CHECK(loop.run_one());
  stop.request_stop();
  CHECK(log.empty());
  mutex.unlock();
  CHECK(is_free(mutex));
  CHECK(loop.run_one());
  CHECK(log == std::vector{-1});
}

TEST_CASE("async_mutex: the exception says why the wait was stopped") {
  async_mutex mutex;
  coracle::stop_source stop;
  coracle::stop_reason why = coracle::stop_reason::none;
  const auto wait = [&]() -> coracle::task<> {
    try {
      co_await mutex.lock_async();
    } catch (const coracle::operation_cancelled& cancelled) {
      why = cancelled.reason();
    }
  };
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  run_stoppable(stop.get_token(), wait(), log, 1);
  stop.request_stop(coracle::stop_reason::shutting_down);
  CHECK(why == coracle::stop_reason::shutting_down);
  mutex.unlock();
}

TEST_CASE("async_mutex: 50'000 waiters are cancelled in any order, each in a moment") {
  async_mutex mutex;
  REQUIRE(mutex.try_lock());
  CHECK(coracle_test::cancels_many(50'000, false, [&] { return mutex.lock_async(); }));
  CHECK(coracle_test::cancels_many(50'000, true, [&] { return mutex.lock_async(); }));
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_mutex: of two locks that when_any() asks for, exactly one is taken") {
  async_mutex first, second;
  const auto work = [&]() -> coracle::task<std::size_t> {
    const auto won = co_await coracle::when_any(first.lock_async(), second.lock_async());
    co_return won.index();
  };
  CHECK(coracle::sync_wait(work()) == 0);
  CHECK_FALSE(first.try_lock());
  CHECK(is_free(second));
  CHECK(coracle::sync_wait(work()) == 1);
  CHECK_FALSE(second.try_lock());
  first.unlock();
  second.unlock();
}

TEST_CASE("async_mutex: a branch of when_any() that was overtaken on its way leaves the race open") {
  coracle::run_loop loop;
  async_mutex mutex;
  coracle::async_manual_reset_event event;
  std::size_t winner = 9;
  const auto race = [&]() -> detached {
    co_await loop.schedule();
    winner = (co_await coracle::when_any(mutex.lock_async(), event)).index();
  };
  REQUIRE(mutex.try_lock());
  race();
  CHECK(loop.run_one());
  mutex.unlock();
  REQUIRE(mutex.try_lock());
  while (loop.run_one()) {
  }
  CHECK(winner == 9);
  event.set();
  while (loop.run_one()) {
  }
  CHECK(winner == 1);
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_mutex: unlock() passes over a waiter whose when_any() has been won by another") {
  coracle::run_loop loop;
  async_mutex mutex;
  coracle::async_manual_reset_event event;
  std::vector<int> log;
  std::size_t winner = 9;
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    winner = (co_await coracle::when_any(mutex.lock_async(), event)).index();
  };
  REQUIRE(mutex.try_lock());
  work();
  CHECK(loop.run_one());
  lock_and_log(mutex, log, 1);
  event.set();
  mutex.unlock();
  CHECK(log == std::vector{1});
  mutex.unlock();
  CHECK(is_free(mutex));
  while (loop.run_one()) {
  }
  CHECK(winner == 1);
  CHECK(is_free(mutex));
}
}  // namespace
