// tests/unit/async_mutex_test.cpp -- mutual exclusion across awaits.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/manual_scheduler.hpp>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/is_free.hpp"
#include "async_mutex_waiters.hpp"

namespace {
using coracle::async_mutex;
using coracle::async_mutex_lock;
using coracle::testing::manual_scheduler;
using coracle_test::detached;
using coracle_test::is_free;
using coracle_test::lock_and_log;

template <class Place>
detached lock_on(Place& place, async_mutex& mutex, std::vector<int>& log, int name) {
  co_await place.schedule();
  co_await mutex.lock_async();
  log.push_back(coracle::current_executor() == &place ? name : -name);
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

TEST_CASE(
    "async_mutex: outside any executor the lock is handed on, and a newcomer waits behind all who came "
    "before") {
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

TEST_CASE("async_mutex: a waiter takes the lock where it runs, and others may take it before") {
  manual_scheduler place;
  async_mutex mutex;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  lock_on(place, mutex, log, 1);
  CHECK(place.run_all() == 1);
  mutex.unlock();
  REQUIRE(mutex.try_lock());
  mutex.unlock();
  CHECK(place.queued() == 1);
  CHECK(place.run_all() == 1);
  CHECK(log == std::vector{1});
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_mutex: a waiter that comes too late is the first again") {
  manual_scheduler place;
  async_mutex mutex;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  lock_on(place, mutex, log, 1);
  lock_on(place, mutex, log, 2);
  CHECK(place.run_all() == 2);
  mutex.unlock();
  REQUIRE(mutex.try_lock());
  lock_and_log(mutex, log, 3);
  CHECK(place.run_all() == 1);
  CHECK(log.empty());
  for (int turn = 0; turn != 3; ++turn) {
    mutex.unlock();
    place.run_all();
  }
  CHECK(log == std::vector{1, 2, 3});
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_mutex: unlock() wakes no other while a waiter is on its way") {
  manual_scheduler place;
  async_mutex mutex;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  lock_on(place, mutex, log, 1);
  lock_on(place, mutex, log, 2);
  CHECK(place.run_all() == 2);
  mutex.unlock();
  for (int i = 0; i != 3; ++i) CHECK(is_free(mutex));
  CHECK(place.queued() == 1);
  CHECK(place.run_all() == 1);
  CHECK(place.queued() == 0);
  mutex.unlock();
  CHECK(place.run_all() == 1);
  CHECK(log == std::vector{1, 2});
  mutex.unlock();
}

TEST_CASE("async_mutex: a waiter that comes while another is on its way waits behind it") {
  manual_scheduler place;
  async_mutex mutex;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  lock_on(place, mutex, log, 1);
  CHECK(place.run_all() == 1);
  mutex.unlock();
  REQUIRE(mutex.try_lock());
  lock_and_log(mutex, log, 2);
  lock_on(place, mutex, log, 3);
  CHECK(place.queued() == 2);
  place.run(1);
  mutex.unlock();
  CHECK(log.empty());
  CHECK(place.run_all() == 1);
  CHECK(log == std::vector{1});
  mutex.unlock();
  CHECK(log == std::vector{1, 2});
  mutex.unlock();
  CHECK(place.run_all() == 1);
  CHECK(log == std::vector{1, 2, 3});
  mutex.unlock();
}

TEST_CASE("async_mutex: a waiter that is on its way is overtaken 1024 times at most") {
  manual_scheduler place;
  async_mutex mutex;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  lock_on(place, mutex, log, 1);
  CHECK(place.run_all() == 1);
  mutex.unlock();
  for (int i = 0; i != 1024; ++i) {
    REQUIRE(mutex.try_lock());
    mutex.unlock();
  }
  CHECK_FALSE(mutex.try_lock());
  lock_and_log(mutex, log, 2);  // does not take it either
  CHECK(log.empty());
  CHECK(place.run_all() == 1);
  CHECK(log == std::vector{1});
  mutex.unlock();
  CHECK(log == std::vector{1, 2});
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_mutex: a waiter that has come too late four times is handed the lock") {
  manual_scheduler place;
  async_mutex mutex;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  lock_on(place, mutex, log, 1);
  CHECK(place.run_all() == 1);
  for (int in_vain = 0; in_vain != 4; ++in_vain) {
    mutex.unlock();
    REQUIRE(mutex.try_lock());
    CHECK(place.run_all() == 1);
    CHECK(log.empty());
  }
  mutex.unlock();
  CHECK_FALSE(mutex.try_lock());
  CHECK(place.run_all() == 1);
  CHECK(log == std::vector{1});
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_mutex: how often a waiter was overtaken counts until it has the lock") {
  manual_scheduler place;
  async_mutex mutex;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  lock_on(place, mutex, log, 1);
  CHECK(place.run_all() == 1);
  mutex.unlock();
  for (int i = 0; i != 767; ++i) CHECK(is_free(mutex));
  REQUIRE(mutex.try_lock());
  CHECK(place.run_all() == 1);  // in vain: 768 + 256
  mutex.unlock();
  CHECK_FALSE(mutex.try_lock());
  CHECK(place.run_all() == 1);
  mutex.unlock();
  lock_on(place, mutex, log, 2);
  REQUIRE(mutex.try_lock());
  CHECK(place.run_all() == 1);
  mutex.unlock();
  CHECK(is_free(mutex));  // another begins anew
  CHECK(place.run_all() == 1);
  CHECK(log == std::vector{1, 2});
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
    auto first = async_mutex_lock::adopt(mutex);
    {
      const async_mutex_lock second{std::move(first)};
      CHECK_FALSE(mutex.try_lock());
    }
    REQUIRE(mutex.try_lock());
  }
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("async_mutex: assigning to a scoped lock unlocks what it held, and takes over the other's") {
  async_mutex one, two;
  REQUIRE(one.try_lock());
  REQUIRE(two.try_lock());
  {
    auto lock = async_mutex_lock::adopt(one), other = async_mutex_lock::adopt(two);
    lock = std::move(other);
    CHECK(lock.mutex() == &two);
    CHECK(other.mutex() == nullptr);
    CHECK(is_free(one));
    CHECK_FALSE(is_free(two));
    async_mutex_lock& same = lock;
    lock = std::move(same);
    CHECK_FALSE(is_free(two));
    const auto lock_one = [&]() -> coracle::task<> { lock = co_await one.scoped_lock_async(); };
    coracle::sync_wait(lock_one());
    CHECK(is_free(two));
    CHECK_FALSE(is_free(one));
    lock = std::move(other);  // which holds none
    CHECK(is_free(one));
  }
  CHECK(is_free(two));
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

TEST_CASE("async_mutex: destroyed while held ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          async_mutex mutex;
          static_cast<void>(mutex.try_lock());
        }) == "coracle: an async_mutex was destroyed while it was held: unlock it first\n");
}

TEST_CASE("async_mutex: unlock() of a mutex that is not held ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          async_mutex mutex;
          mutex.unlock();
        }) == "coracle: unlock() of an async_mutex that is not held: lock it first, and unlock it once\n");
}

TEST_CASE("async_mutex_lock: adopt() of a mutex that is not held ends the program and says so") {
  const char* const message =
      "coracle: adopt() of an async_mutex that is not held: lock it first, or co_await scoped_lock_async()\n";
  CHECK(coracle_test::abort_message([] {
          async_mutex mutex;
          static_cast<void>(async_mutex_lock::adopt(mutex));
        }) == message);
  CHECK(coracle_test::abort_message([] {
          async_mutex mutex;
          manual_scheduler place;
          std::vector<int> log;
          static_cast<void>(mutex.try_lock());
          lock_on(place, mutex, log, 1);
          place.run_all();
          mutex.unlock();  // wakes the waiter, which has not taken it yet
          static_cast<void>(async_mutex_lock::adopt(mutex));
        }) == message);
}

TEST_CASE("async_mutex_lock: a mutex that others wait for can be adopted") {
  async_mutex mutex;
  std::vector<int> log{0};
  REQUIRE(mutex.try_lock());
  lock_and_log(mutex, log, 1);
  {
    const auto lock = async_mutex_lock::adopt(mutex);
    CHECK(log.back() == 0);
  }
  lock_and_log(mutex, log, 2);
  lock_and_log(mutex, log, 3);
  for (int holder = 1; holder != 4; ++holder) {
    const auto lock = async_mutex_lock::adopt(mutex);
    CHECK(log.back() == holder);
  }
  CHECK(is_free(mutex));
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

// The static guarantees of the header.
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
static_assert(std::is_same_v<coracle::await_result_t<async_mutex::scoped_lock_operation>, async_mutex_lock>);
static_assert(!std::is_copy_constructible_v<async_mutex_lock> &&
              std::is_nothrow_move_constructible_v<async_mutex_lock> &&
              std::is_nothrow_move_assignable_v<async_mutex_lock>);
}  // namespace
