// tests/unit/contended_lock_test.cpp -- bounded overtaking, which all locks have in common.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/compose/when_any.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/sync/async_shared_mutex.hpp>
#include <string>
#include <vector>

#include "../support/detached.hpp"
#include "../support/is_free.hpp"
#include "../support/stoppable.hpp"

namespace {
using coracle::async_semaphore;
using coracle::async_shared_mutex;
using coracle_test::detached;
using coracle_test::is_free;
using coracle_test::run_stoppable_on;

struct one_mutex {
  bool try_lock() { return lock.try_lock(); }
  void unlock() { lock.unlock(); }
  auto enter() { return lock.lock_async(); }
  coracle::async_mutex lock;
};
struct semaphore_of_one {
  bool try_lock() { return lock.try_acquire(); }
  void unlock() { lock.release(); }
  auto enter() { return lock.acquire(); }
  async_semaphore lock{1};
};
struct one_writer_lock {
  bool try_lock() { return lock.try_lock(); }
  void unlock() { lock.unlock(); }
  auto enter() { return lock.lock_async(); }
  async_shared_mutex lock;
};
#define LOCKS one_mutex, semaphore_of_one, one_writer_lock

/// Keeps the lock; the test unlocks.
template <class Lock>
detached enter_and_log_on(coracle::run_loop& loop, Lock& lock, std::vector<int>& log, int name) {
  co_await loop.schedule();
  co_await lock.enter();
  log.push_back(coracle::current_executor() == &loop ? name : -name);
}

/// A lock that is held, and a loop on which 1, 2, ... wait for it.
template <class Lock>
struct awaited {
  explicit awaited(int waiters) {
    REQUIRE(lock.try_lock());
    for (int name = 1; name <= waiters; ++name) enter_and_log_on(loop, lock, log, name);
    CHECK(loop.run_pending() == static_cast<unsigned>(waiters));
  }
  coracle::run_loop loop;
  Lock lock;
  std::vector<int> log;
};

TEST_CASE_TEMPLATE("locks: a waiter takes a lock where it runs, and others may take it before", Lock, LOCKS) {
  awaited<Lock> test{1};
  auto& [loop, lock, log] = test;
  lock.unlock();
  CHECK(log.empty());
  CHECK(is_free(lock));
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK_FALSE(lock.try_lock());
  lock.unlock();
  CHECK(is_free(lock));
}

TEST_CASE_TEMPLATE("locks: a waiter that comes too late is the first again", Lock, LOCKS) {
  awaited<Lock> test{2};
  auto& [loop, lock, log] = test;
  lock.unlock();
  REQUIRE(lock.try_lock());
  CHECK(loop.run_one());
  CHECK(log.empty());
  lock.unlock();
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  lock.unlock();
  CHECK(loop.run_one());
  CHECK(log == std::vector{1, 2});
  lock.unlock();
  CHECK(is_free(lock));
}

TEST_CASE_TEMPLATE("locks: unlocking wakes no other while a waiter is on its way", Lock, LOCKS) {
  awaited<Lock> test{2};
  auto& [loop, lock, log] = test;
  lock.unlock();
  for (int i = 0; i != 3; ++i) CHECK(is_free(lock));
  enter_and_log_on(loop, lock, log, 3);
  CHECK(loop.run_pending() == 2);  // the first, and the start of the third, which waits
  CHECK(log == std::vector{1});
  for (int name = 2; name != 4; ++name) {
    lock.unlock();
    CHECK(loop.run_pending() == 1);
    CHECK(log.back() == name);
  }
  lock.unlock();
  CHECK(is_free(lock));
}

TEST_CASE_TEMPLATE("locks: a waiter that is on its way is overtaken 1024 times at most", Lock, LOCKS) {
  awaited<Lock> test{1};
  auto& [loop, lock, log] = test;
  lock.unlock();
  int overtakings = 0;
  while (is_free(lock)) ++overtakings;
  CHECK(overtakings == 1024);
  enter_and_log_on(loop, lock, log, 2);
  CHECK(loop.run_pending() == 2);
  CHECK(log == std::vector{1});
  lock.unlock();
  CHECK(loop.run_one());
  lock.unlock();
  CHECK(is_free(lock));
}

TEST_CASE_TEMPLATE("locks: a waiter that has come too late four times is handed the lock", Lock, LOCKS) {
  awaited<Lock> test{1};
  auto& [loop, lock, log] = test;
  for (int i = 0; i != 4; ++i) {
    lock.unlock();
    REQUIRE(lock.try_lock());
    CHECK(loop.run_one());
    CHECK(log.empty());
  }
  lock.unlock();
  CHECK_FALSE(lock.try_lock());
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  lock.unlock();
  CHECK(is_free(lock));
}

TEST_CASE_TEMPLATE("locks: a waiter that is stopped on its way takes nothing, and lets the next in", Lock,
                   LOCKS) {
  coracle::run_loop loop;
  Lock lock;
  coracle::stop_source stop;
  std::vector<int> log;
  REQUIRE(lock.try_lock());
  run_stoppable_on(stop.get_token(), loop, lock.enter(), log, 1);
  run_stoppable_on({}, loop, lock.enter(), log, 2);
  CHECK(loop.run_pending() == 2);
  lock.unlock();
  stop.request_stop();
  CHECK(log.empty());
  SUBCASE("that waits where it runs") { CHECK(loop.run_one()); }
  SUBCASE("once it is unlocked again") {
    REQUIRE(lock.try_lock());
    CHECK(loop.run_one());
    CHECK_FALSE(loop.run_one());
    lock.unlock();
  }
  CHECK(log == std::vector{-1});
  CHECK(loop.run_one());
  CHECK(log == std::vector{-1, 2});
  CHECK_FALSE(lock.try_lock());
  lock.unlock();
  CHECK(is_free(lock));
}

TEST_CASE_TEMPLATE(
    "locks: a waiter that is stopped on its way leaves a lock free for which nobody else waits", Lock,
    LOCKS) {
  coracle::run_loop loop;
  Lock lock;
  coracle::stop_source stop;
  std::vector<int> log;
  REQUIRE(lock.try_lock());
  run_stoppable_on(stop.get_token(), loop, lock.enter(), log, 1);
  CHECK(loop.run_one());
  lock.unlock();
  stop.request_stop();
  CHECK(loop.run_one());
  CHECK(log == std::vector{-1});
  CHECK(is_free(lock));
}

TEST_CASE_TEMPLATE("locks: a waiter that is stopped while another is on its way leaves the queue", Lock,
                   LOCKS) {
  coracle::run_loop loop;
  Lock lock;
  coracle::stop_source stop;
  std::vector<int> log;
  REQUIRE(lock.try_lock());
  run_stoppable_on({}, loop, lock.enter(), log, 1);
  run_stoppable_on(stop.get_token(), loop, lock.enter(), log, 2);
  CHECK(loop.run_pending() == 2);
  lock.unlock();
  stop.request_stop();
  CHECK(loop.run_pending() == 2);
  CHECK(log == std::vector{1, -2});
  lock.unlock();
  CHECK(is_free(lock));
}

TEST_CASE_TEMPLATE("locks: a waiter that loses its choice on its way takes nothing, and lets the next in",
                   Lock, LOCKS) {
  coracle::run_loop loop;
  Lock left, right;
  std::vector<int> log;
  const auto either = [&]() -> detached {
    co_await loop.schedule();
    const auto got = co_await coracle::when_any(left.enter(), right.enter());
    log.push_back(static_cast<int>(got.index()) + 1);
  };
  REQUIRE(left.try_lock());
  REQUIRE(right.try_lock());
  either();
  run_stoppable_on({}, loop, left.enter(), log, 3);
  run_stoppable_on({}, loop, right.enter(), log, 4);
  CHECK(loop.run_pending() == 3);
  left.unlock();
  right.unlock();  // the coroutine is on its way to both
  while (loop.run_one()) {
  }
  const bool took_left = std::count(log.begin(), log.end(), 1) == 1;
  (took_left ? left : right).unlock();
  while (loop.run_one()) {
  }
  std::sort(log.begin(), log.end());
  CHECK(log == std::vector{took_left ? 1 : 2, 3, 4});
  left.unlock();
  right.unlock();
  CHECK(is_free(left));
  CHECK(is_free(right));
}

#undef LOCKS

TEST_CASE("async_semaphore of one: of permits that are released together one can be overtaken") {
  awaited<semaphore_of_one> test{4};
  auto& [loop, at, log] = test;
  at.lock.release(3);
  CHECK(at.try_lock());
  CHECK_FALSE(at.try_lock());
  CHECK(loop.run_pending() == 3);
  CHECK(log == std::vector{2, 3});
  at.lock.release();
  CHECK(loop.run_pending() == 1);
  CHECK(log == std::vector{2, 3, 1});
  at.lock.release(2);
  CHECK(loop.run_pending() == 1);
  CHECK(log == std::vector{2, 3, 1, 4});
  CHECK(at.try_lock());
  CHECK_FALSE(at.try_lock());
}

TEST_CASE(
    "async_semaphore of one: a permit beside the one that a waiter is coming for is handed to the next") {
  awaited<semaphore_of_one> test{2};
  auto& [loop, at, log] = test;
  at.lock.release();
  at.lock.release();
  CHECK(at.try_lock());
  CHECK_FALSE(at.try_lock());
  CHECK(loop.run_pending() == 2);
  CHECK(log == std::vector{2});
  at.lock.release();
  CHECK(loop.run_pending() == 1);
  CHECK(log == std::vector{2, 1});
}

TEST_CASE(
    "async_semaphore of one: permits that exceed the one that a waiter is coming for do not count as its "
    "own") {
  awaited<semaphore_of_one> test{1};
  auto& [loop, at, log] = test;
  at.lock.release(3);
  CHECK(at.try_lock());
  CHECK(at.try_lock());
  CHECK(loop.run_pending() == 1);
  CHECK(log == std::vector{1});
  CHECK_FALSE(at.try_lock());
}

/// The names of readers are small letters, those of writers capitals.
detached lock_on_loop(coracle::run_loop& loop, async_shared_mutex& mutex, std::string& log, char name) {
  co_await loop.schedule();
  if (name >= 'a') {
    co_await mutex.lock_shared_async();
  } else {
    co_await mutex.lock_async();
  }
  log += name;
}

TEST_CASE("async_shared_mutex: readers behind a reader that was woken enter with it") {
  coracle::run_loop loop;
  async_shared_mutex mutex;
  std::string log;
  REQUIRE(mutex.try_lock());
  for (const char name : {'a', 'b', 'C', 'd'}) lock_on_loop(loop, mutex, log, name);
  CHECK(loop.run_pending() == 4);
  mutex.unlock();
  CHECK(loop.run_one());
  CHECK(log == "a");
  CHECK(loop.run_one());
  CHECK(log == "ab");
  CHECK_FALSE(loop.run_one());
  CHECK_FALSE(mutex.try_lock_shared());
  mutex.unlock_shared();
  mutex.unlock_shared();
  CHECK(loop.run_pending() == 1);
  CHECK(log == "abC");
  mutex.unlock();
  CHECK(loop.run_pending() == 1);
  CHECK(log == "abCd");
  mutex.unlock_shared();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("async_shared_mutex: a reader that comes while a writer has the lock is the first again") {
  coracle::run_loop loop;
  async_shared_mutex mutex;
  std::string log;
  REQUIRE(mutex.try_lock());
  lock_on_loop(loop, mutex, log, 'a');
  CHECK(loop.run_one());
  mutex.unlock();
  REQUIRE(mutex.try_lock());
  CHECK(loop.run_one());
  CHECK(log.empty());
  CHECK_FALSE(mutex.try_lock_shared());
  mutex.unlock();
  CHECK(loop.run_one());
  CHECK(log == "a");
  mutex.unlock_shared();
}

TEST_CASE("async_shared_mutex: a writer that is on its way is overtaken by readers 1024 times at most") {
  coracle::run_loop loop;
  async_shared_mutex mutex;
  std::string log;
  REQUIRE(mutex.try_lock());
  lock_on_loop(loop, mutex, log, 'A');
  CHECK(loop.run_one());
  mutex.unlock();
  int readers = 0;
  while (mutex.try_lock_shared()) ++readers;
  CHECK(readers == 1024);
  CHECK(loop.run_one());  // in vain: they hold it
  CHECK(log.empty());
  for (; readers != 0; --readers) {
    CHECK_FALSE(mutex.try_lock_shared());
    mutex.unlock_shared();
  }
  CHECK_FALSE(mutex.try_lock());
  CHECK(loop.run_one());
  CHECK(log == "A");
  mutex.unlock();
}

TEST_CASE("async_shared_mutex: readers beside a writer that comes in vain keep it out until they leave") {
  coracle::run_loop loop;
  async_shared_mutex mutex;
  std::string log;
  REQUIRE(mutex.try_lock());
  lock_on_loop(loop, mutex, log, 'A');
  lock_on_loop(loop, mutex, log, 'b');
  CHECK(loop.run_pending() == 2);
  mutex.unlock();
  REQUIRE(mutex.try_lock_shared());
  CHECK(loop.run_one());
  CHECK(log.empty());
  CHECK_FALSE(mutex.try_lock_shared());
  mutex.unlock_shared();
  CHECK(loop.run_one());
  CHECK(log == "A");
  mutex.unlock();
  CHECK(loop.run_one());
  CHECK(log == "Ab");
  mutex.unlock_shared();
}
}  // namespace
