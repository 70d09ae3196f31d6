// tests/unit/async_mutex_test.cpp -- exclusion across awaits.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/allocations.hpp>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/stoppable.hpp"

namespace {
using coracle::async_mutex;
using coracle_test::detached;
using coracle_test::run_stoppable;
using coracle_test::run_stoppable_on;

/// Keeps the lock; the test unlocks.
detached lock_and_log(async_mutex& mutex, std::vector<int>& log, int name) {
  co_await mutex.lock_async();
  log.push_back(name);
}
detached lock_on(coracle::run_loop& loop, async_mutex& mutex, std::vector<int>& log, int name) {
  co_await loop.schedule();
  co_await mutex.lock_async();
  log.push_back(coracle::current_executor() == &loop ? name : -name);
}

bool is_free(async_mutex& mutex) {
  const bool taken = mutex.try_lock();
  if (taken) mutex.unlock();
  return taken;
}

TEST_CASE("async_mutex: try_lock succeeds once, and again after unlock()") {
  async_mutex mutex;
  REQUIRE(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
  REQUIRE(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("async_mutex: an await of a free mutex does not suspend, and holds it") {
  async_mutex mutex;
  std::vector<int> log;
  lock_and_log(mutex, log, 1);
  CHECK(log == std::vector{1});
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
  REQUIRE(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("async_mutex: the third waiter gets the lock after the second") {
  async_mutex mutex;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  for (int name = 1; name != 4; ++name) lock_and_log(mutex, log, name);
  CHECK(log.empty());
  mutex.unlock();
  CHECK(log == std::vector{1});
  mutex.unlock();
  CHECK(log == std::vector{1, 2});
  mutex.unlock();
  CHECK(log == std::vector{1, 2, 3});
  mutex.unlock();
}

TEST_CASE("async_mutex: who comes while the lock is handed on waits behind all who came before") {
  async_mutex mutex;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  lock_and_log(mutex, log, 1);
  lock_and_log(mutex, log, 2);
  lock_and_log(mutex, log, 3);
  mutex.unlock();
  lock_and_log(mutex, log, 4);
  lock_and_log(mutex, log, 5);
  CHECK(log == std::vector{1});
  for (int i = 0; i != 4; ++i) mutex.unlock();
  CHECK(log == std::vector{1, 2, 3, 4, 5});
  mutex.unlock();
}

TEST_CASE("async_mutex: the lock is handed over, try_lock cannot barge in between") {
  coracle::run_loop loop;
  async_mutex mutex;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  lock_on(loop, mutex, log, 1);
  CHECK(loop.run_one());
  mutex.unlock();
  CHECK(log.empty());
  CHECK_FALSE(mutex.try_lock());
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  mutex.unlock();
}

TEST_CASE("async_mutex: a scoped lock is held across an await and unlocks at the end of its scope") {
  async_mutex mutex;
  coracle::async_manual_reset_event inside;
  bool held_before = false, held_after = false;
  const auto work = [&]() -> detached {
    {
      const auto lock = co_await mutex.scoped_lock_async();
      held_before = !mutex.try_lock();
      co_await inside;
      held_after = !mutex.try_lock();
    }
  };
  work();
  CHECK(held_before);
  CHECK_FALSE(mutex.try_lock());
  inside.set();
  CHECK(held_after);
  REQUIRE(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("async_mutex: a scoped lock that was moved from does not unlock") {
  async_mutex mutex;
  REQUIRE(mutex.try_lock());
  {
    coracle::async_mutex_lock first{mutex};
    {
      const coracle::async_mutex_lock second{std::move(first)};
      CHECK_FALSE(mutex.try_lock());
    }
    REQUIRE(mutex.try_lock());
  }
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("async_mutex: an exception that leaves the scope unlocks and wakes the next") {
  async_mutex mutex;
  std::vector<int> log;
  const auto fail = [&]() -> coracle::task<> {
    const auto lock = co_await mutex.scoped_lock_async();
    lock_and_log(mutex, log, 1);
    CHECK(log.empty());
    throw std::runtime_error("while locked");
  };
  CHECK_THROWS_WITH_AS(coracle::sync_wait(fail()), "while locked", std::runtime_error);
  CHECK(log == std::vector{1});
  mutex.unlock();
}

TEST_CASE("async_mutex: a waiter outside any executor runs inside unlock(), on the unlocking thread") {
  async_mutex mutex;
  std::thread::id waiter_ran_on;
  const auto wait = [&]() -> detached {
    co_await mutex.lock_async();
    waiter_ran_on = std::this_thread::get_id();
  };
  REQUIRE(mutex.try_lock());
  wait();
  std::thread::id unlocker, seen_after_unlock;
  std::thread([&] {
    unlocker = std::this_thread::get_id();
    mutex.unlock();
    seen_after_unlock = waiter_ran_on;
  }).join();
  CHECK(seen_after_unlock == unlocker);
  CHECK(seen_after_unlock != std::this_thread::get_id());
  mutex.unlock();
}

TEST_CASE("async_mutex: 1000 waiters that unlock at once run before the first unlock() returns, in order") {
  async_mutex mutex;
  std::vector<int> log;
  const auto lock_briefly = [&](int name) -> detached {
    const auto lock = co_await mutex.scoped_lock_async();
    log.push_back(name);
  };
  REQUIRE(mutex.try_lock());
  for (int name = 0; name != 1000; ++name) lock_briefly(name);
  CHECK(log.empty());
  mutex.unlock();
  REQUIRE(log.size() == 1000);
  CHECK(std::is_sorted(log.begin(), log.end()));
  REQUIRE(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("async_mutex: each waiter resumes on its own executor, unlock() does not run it") {
  coracle::run_loop first, second;
  async_mutex mutex;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  lock_on(first, mutex, log, 1);
  lock_on(second, mutex, log, 2);
  CHECK(first.run_one());
  CHECK(second.run_one());
  mutex.unlock();
  CHECK(log.empty());
  CHECK_FALSE(second.run_one());
  CHECK(first.run_one());
  CHECK(log == std::vector{1});
  mutex.unlock();
  CHECK_FALSE(first.run_one());
  CHECK(second.run_one());
  CHECK(log == std::vector{1, 2});
  mutex.unlock();
}

TEST_CASE("async_mutex: a lock taken without waiting stays on its executor without a post") {
  coracle::run_loop loop;
  async_mutex mutex;
  std::vector<int> log;
  lock_on(loop, mutex, log, 1);
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK_FALSE(loop.run_one());
  mutex.unlock();
}

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
  mutex.unlock();
  stop.request_stop();
  CHECK(log.empty());
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
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

TEST_CASE(
    "async_mutex: a loop that finds it free every time lets others run now and then, without the lock") {
  coracle::run_loop loop;
  async_mutex mutex;
  int locks = 0, locks_seen = 0;
  bool free_then = false;
  const auto hog = [&]() -> detached {
    co_await loop.schedule();
    for (int i = 0; i != 1000; ++i) {
      const auto lock = co_await mutex.scoped_lock_async();
      ++locks;
    }
  };
  const auto look = [&]() -> detached {
    co_await loop.schedule();
    locks_seen = locks;
    free_then = is_free(mutex);
  };
  hog();
  look();
  while (loop.run_one()) {
  }
  CHECK(locks == 1000);
  CHECK(locks_seen > 0);
  CHECK(locks_seen < 200);
  CHECK(free_then);
}

TEST_CASE("async_mutex: destroyed while held ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] {
          async_mutex mutex;
          static_cast<void>(mutex.try_lock());
        }) == "coracle: an async_mutex was destroyed while it was held\n");
}

TEST_CASE("async_mutex: unlock() of a mutex that is not held ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] {
          async_mutex mutex;
          mutex.unlock();
        }) == "coracle: unlock() of an async_mutex that is not held\n");
}

TEST_CASE("async_mutex: locking, waiting and unlocking allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_mutex mutex;
  int turns = 0;
  const auto take_turns = [&]() -> detached {
    for (int i = 0; i != 3; ++i) {
      co_await mutex.lock_async();
      ++turns;
    }
  };
  REQUIRE(mutex.try_lock());
  take_turns();
  take_turns();
  const auto before = coracle::testing::allocations();
  for (int i = 0; i != 7; ++i) mutex.unlock();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(turns == 6);
}

// What the header promises to the compiler.
using lock_awaiter = async_mutex::lock_operation;
static_assert(sizeof(async_mutex) == 24);
static_assert(std::is_nothrow_default_constructible_v<async_mutex>);
static_assert(!std::is_copy_constructible_v<async_mutex> && !std::is_move_constructible_v<async_mutex>);
static_assert(noexcept(std::declval<async_mutex&>().try_lock()) &&
              noexcept(std::declval<async_mutex&>().unlock()) &&
              noexcept(std::declval<async_mutex&>().lock_async()) &&
              noexcept(std::declval<async_mutex&>().scoped_lock_async()));
static_assert(noexcept(std::declval<lock_awaiter&>().await_ready()) &&
              noexcept(std::declval<lock_awaiter&>().await_suspend(std::noop_coroutine())) &&
              !noexcept(std::declval<lock_awaiter&>().await_resume()));
static_assert(std::is_void_v<coracle::await_result_t<async_mutex::lock_operation>>);
static_assert(
    std::is_same_v<coracle::await_result_t<async_mutex::scoped_lock_operation>, coracle::async_mutex_lock>);
static_assert(!std::is_copy_constructible_v<coracle::async_mutex_lock> &&
              std::is_nothrow_move_constructible_v<coracle::async_mutex_lock>);
}  // namespace
