// tests/unit/async_condition_variable_stop_test.cpp -- waits that are stopped, or lose a race.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_any.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_condition_variable.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <vector>

#include "../support/detached.hpp"
#include "../support/is_free.hpp"
#include "../support/stoppable.hpp"
#include "async_condition_variable_waiters.hpp"

namespace {
using coracle::async_condition_variable;
using coracle::async_mutex;
using coracle_test::detached;
using coracle_test::is_free;
using coracle_test::run_stoppable;
using coracle_test::shared;
using coracle_test::wait_for_value;
using coracle_test::wait_once;

/// Waits, possibly until it is stopped, and then logs whether it has the lock.
coracle::task<> wait_stoppably(shared& s) {
  auto lock = co_await s.mutex.scoped_lock_async();
  bool held = false;
  try {
    co_await s.changed.wait(lock);
    held = !is_free(s.mutex);
  } catch (const coracle::operation_cancelled&) {
    CHECK_FALSE(is_free(s.mutex));
    throw;
  }
  CHECK(held);
}
coracle::task<> wait_stoppably_for(shared& s, int wanted) {
  auto lock = co_await s.mutex.scoped_lock_async();
  const auto reached = [&s, wanted] { return s.value >= wanted; };
  try {
    co_await s.changed.wait(lock, reached);
  } catch (const coracle::operation_cancelled&) {
    CHECK_FALSE(is_free(s.mutex));
    throw;
  }
  CHECK_FALSE(is_free(s.mutex));
}

TEST_CASE(
    "async_condition_variable: stop requested before the await: it throws, and never gave up the lock") {
  shared s;
  coracle::stop_source stop;
  stop.request_stop();
  int calls = 0;
  const auto looks = [&calls] { return ++calls != 0; };
  REQUIRE(s.mutex.try_lock());
  auto lock = coracle::async_mutex_lock::adopt(s.mutex);
  run_stoppable(stop.get_token(), s.changed.wait(lock), s.log, 1);
  run_stoppable(stop.get_token(), s.changed.wait(lock, looks), s.log, 2);
  CHECK(s.log == std::vector{-1, -2});
  CHECK(calls == 0);
  CHECK_FALSE(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: a stop request ends the wait, with the lock held") {
  shared s;
  coracle::stop_source stops[3];
  for (int i = 0; i != 3; ++i) run_stoppable(stops[i].get_token(), wait_stoppably(s), s.log, i + 1);
  stops[1].request_stop();
  CHECK(s.log == std::vector{-2});
  s.changed.notify_one();
  CHECK(s.log == std::vector{-2, 1});
  s.changed.notify_one();
  CHECK(s.log == std::vector{-2, 1, 3});
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: a stopped wait says why it was stopped") {
  shared s;
  coracle::stop_source stop;
  coracle::stop_reason why = coracle::stop_reason::none;
  const auto wait = [&]() -> coracle::task<> {
    auto lock = co_await s.mutex.scoped_lock_async();
    try {
      co_await s.changed.wait(lock);
    } catch (const coracle::operation_cancelled& e) {
      why = e.reason();
    }
  };
  run_stoppable(stop.get_token(), wait(), s.log, 1);
  stop.request_stop(coracle::stop_reason::timed_out);
  CHECK(why == coracle::stop_reason::timed_out);
  CHECK(s.log == std::vector{1});
}

TEST_CASE("async_condition_variable: a stopped wait waits for the lock, which it cannot do without") {
  shared s;
  coracle::stop_source stop;
  run_stoppable(stop.get_token(), wait_stoppably(s), s.log, 1);
  REQUIRE(s.mutex.try_lock());
  stop.request_stop();
  CHECK(s.log.empty());
  s.changed.notify_one();  // for nobody: it is not in the queue any more
  s.mutex.unlock();
  CHECK(s.log == std::vector{-1});
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: who was notified before the stop request returns normally") {
  shared s;
  coracle::stop_source stop;
  run_stoppable(stop.get_token(), wait_stoppably(s), s.log, 1);
  wait_once(s, 2);
  REQUIRE(s.mutex.try_lock());
  s.changed.notify_one();
  stop.request_stop();
  CHECK(s.log.empty());
  s.mutex.unlock();
  CHECK(s.log == std::vector{1});
  s.changed.notify_one();
  CHECK(s.log == std::vector{1, 2});
}

TEST_CASE("async_condition_variable: a notification is never used up by a waiter that was stopped before") {
  shared s;
  coracle::stop_source stop;
  run_stoppable(stop.get_token(), wait_stoppably(s), s.log, 1);
  wait_once(s, 2);
  REQUIRE(s.mutex.try_lock());
  stop.request_stop();
  s.changed.notify_one();
  s.mutex.unlock();
  CHECK(s.log == std::vector{2, -1});  // the first logs when it has given the lock to the second
}

TEST_CASE("async_condition_variable: a stop request ends a wait with a predicate, whatever that would say") {
  shared s;
  coracle::stop_source stop;
  run_stoppable(stop.get_token(), wait_stoppably_for(s, 1), s.log, 1);
  s.changed.notify_one();
  CHECK(s.log.empty());
  REQUIRE(s.mutex.try_lock());
  stop.request_stop();
  s.value = 1;
  s.mutex.unlock();
  CHECK(s.log == std::vector{-1});
}

TEST_CASE("async_condition_variable: with a predicate, one notified and stopped goes on if it holds") {
  for (const int value : {0, 1}) {
    shared s;
    coracle::stop_source stop;
    run_stoppable(stop.get_token(), wait_stoppably_for(s, 1), s.log, 1);
    REQUIRE(s.mutex.try_lock());
    s.changed.notify_one();
    stop.request_stop();
    s.value = value;
    s.mutex.unlock();
    CHECK(s.log == std::vector{value == 1 ? 1 : -1});
    CHECK(is_free(s.mutex));
  }
}

TEST_CASE("async_condition_variable: a cancelled waiter goes on where it suspended") {
  coracle::run_loop loop;
  shared s;
  coracle::stop_source stop;
  const auto wait = [&]() -> coracle::task<> {
    co_await loop.schedule();
    co_await wait_stoppably(s);
  };
  run_stoppable(stop.get_token(), wait(), s.log, 1);
  CHECK(loop.run_one());
  stop.request_stop();
  CHECK(s.log.empty());
  CHECK(is_free(s.mutex));  // it takes the lock where it runs
  REQUIRE(s.mutex.try_lock());
  CHECK(loop.run_one());
  CHECK(s.log.empty());
  s.mutex.unlock();
  CHECK(loop.run_one());
  CHECK(s.log == std::vector{-1});
}

TEST_CASE("async_condition_variable: 50'000 waiters are cancelled in any order, each in a moment") {
  shared s;
  // Not wait_stoppably(): AddressSanitizer never reuses the stack frames of what a catch block rethrows past.
  const auto wait = [&s]() -> coracle::task<> {
    auto lock = co_await s.mutex.scoped_lock_async();
    co_await s.changed.wait(lock);
  };
  CHECK(coracle_test::cancels_many(50'000, false, wait));
  CHECK(coracle_test::cancels_many(50'000, true, wait));
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: a notified waiter whose when_any() is won meanwhile passes it on") {
  coracle::run_loop loop;
  shared s;
  coracle::async_manual_reset_event event;
  std::size_t winner = 9;
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    auto lock = co_await s.mutex.scoped_lock_async();
    const auto reached = [&s] { return s.value >= 1; };
    winner = (co_await coracle::when_any(s.changed.wait(lock, reached), event)).index();
  };
  work();
  CHECK(loop.run_one());
  wait_for_value(s, 1);
  REQUIRE(s.mutex.try_lock());
  s.value = 1;
  s.changed.notify_one();  // of the first, which queues for the lock
  event.set();
  s.mutex.unlock();
  while (loop.run_one()) {
  }
  CHECK(winner == 1);
  CHECK(s.log == std::vector{1});
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: a notification passes over a waiter whose when_any() is won already") {
  for (const bool with_predicate : {false, true}) {
    coracle::run_loop loop;
    shared s;
    coracle::async_manual_reset_event event;
    std::size_t winner = 9;
    bool held = false;
    const auto work = [&]() -> detached {
      co_await loop.schedule();
      auto lock = co_await s.mutex.scoped_lock_async();
      const auto reached = [&s] { return s.value >= 1; };
      if (with_predicate) {
        winner = (co_await coracle::when_any(s.changed.wait(lock, reached), event)).index();
      } else {
        winner = (co_await coracle::when_any(s.changed.wait(lock), event)).index();
      }
      held = !is_free(s.mutex);
    };
    work();
    CHECK(loop.run_one());
    wait_for_value(s, 1);
    event.set();
    s.value = 1;
    s.changed.notify_one();
    while (loop.run_one()) {
    }
    CHECK(winner == 1);
    CHECK(held);
    CHECK(s.log == std::vector{1});
    CHECK(is_free(s.mutex));
  }
}
}  // namespace
