// tests/unit/async_shared_mutex_stop_test.cpp -- waits that are stopped, or lose a race.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_any.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_shared_mutex.hpp>
#include <string>
#include <vector>

#include "../support/detached.hpp"
#include "../support/is_free.hpp"
#include "../support/stoppable.hpp"
#include "async_shared_mutex_waiters.hpp"

namespace {
using coracle::async_shared_mutex;
using coracle_test::detached;
using coracle_test::is_free;
using coracle_test::read;
using coracle_test::run_stoppable;
using coracle_test::run_stoppable_on;
using coracle_test::write;

TEST_CASE("async_shared_mutex: stop requested before the await: a free mutex is not locked either") {
  async_shared_mutex mutex;
  coracle::stop_source stop;
  std::vector<int> log;
  stop.request_stop();
  run_stoppable(stop.get_token(), mutex.lock_async(), log, 1);
  run_stoppable(stop.get_token(), mutex.lock_shared_async(), log, 2);
  run_stoppable(stop.get_token(), mutex.scoped_lock_async(), log, 3);
  run_stoppable(stop.get_token(), mutex.scoped_lock_shared_async(), log, 4);
  CHECK(log == std::vector{-1, -2, -3, -4});
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: a cancelled writer at the head lets the readers behind it in at once") {
  async_shared_mutex mutex;
  coracle::stop_source stop;
  std::vector<int> stopped;
  std::string log;
  read(mutex, log, 'a');
  run_stoppable(stop.get_token(), mutex.lock_async(), stopped, 1);
  read(mutex, log, 'b');
  read(mutex, log, 'c');
  write(mutex, log, 'A');
  read(mutex, log, 'd');
  CHECK(log == "a");
  stop.request_stop();
  CHECK(stopped == std::vector{-1});
  CHECK(log == "abc");
  CHECK_FALSE(mutex.try_lock_shared());
  for (int i = 0; i != 3; ++i) mutex.unlock_shared();
  CHECK(log == "abcA");
  mutex.unlock();
  CHECK(log == "abcAd");
  mutex.unlock_shared();
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: when the only waiter, a writer, is cancelled, readers join again") {
  async_shared_mutex mutex;
  coracle::stop_source stop;
  std::vector<int> stopped;
  REQUIRE(mutex.try_lock_shared());
  run_stoppable(stop.get_token(), mutex.lock_async(), stopped, 1);
  CHECK_FALSE(mutex.try_lock_shared());
  stop.request_stop();
  REQUIRE(mutex.try_lock_shared());
  mutex.unlock_shared();
  mutex.unlock_shared();
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: one that is cancelled in the middle changes nothing for those around it") {
  async_shared_mutex mutex;
  coracle::stop_source writer, reader;
  std::vector<int> stopped;
  std::string log;
  write(mutex, log, 'A');
  read(mutex, log, 'a');
  run_stoppable(writer.get_token(), mutex.lock_async(), stopped, 1);
  run_stoppable(reader.get_token(), mutex.lock_shared_async(), stopped, 2);
  read(mutex, log, 'b');
  write(mutex, log, 'B');
  writer.request_stop();
  reader.request_stop();
  CHECK(stopped == std::vector{-1, -2});
  CHECK(log == "A");
  mutex.unlock();
  CHECK(log == "Aab");  // with the writer between them gone they stand side by side
  mutex.unlock_shared();
  mutex.unlock_shared();
  CHECK(log == "AabB");
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: a stop request after the lock was taken has no effect") {
  coracle::run_loop loop;
  async_shared_mutex mutex;
  coracle::stop_source stop;
  std::vector<int> log;
  REQUIRE(mutex.try_lock());
  run_stoppable_on(stop.get_token(), loop, mutex.lock_shared_async(), log, 1);
  CHECK(loop.run_one());
  mutex.unlock();
  CHECK(loop.run_one());
  stop.request_stop();
  CHECK(log == std::vector{1});
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock_shared();
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: 50'000 waiters are cancelled in any order, each in a moment") {
  async_shared_mutex mutex;
  REQUIRE(mutex.try_lock());
  CHECK(coracle_test::cancels_many(50'000, false, [&] { return mutex.lock_async(); }));
  CHECK(coracle_test::cancels_many(50'000, true, [&] { return mutex.lock_shared_async(); }));
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: a waiter whose when_any() was won by another is passed over") {
  coracle::run_loop loop;
  async_shared_mutex mutex;
  coracle::async_manual_reset_event event;
  std::string log;
  std::size_t winner = 9;
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    winner = (co_await coracle::when_any(mutex.lock_async(), event)).index();
  };
  REQUIRE(mutex.try_lock());
  work();
  CHECK(loop.run_one());
  read(mutex, log, 'a');
  event.set();
  mutex.unlock();
  CHECK(log == "a");
  mutex.unlock_shared();
  CHECK(is_free(mutex));
  while (loop.run_one()) {
  }
  CHECK(winner == 1);
  CHECK(is_free(mutex));
}

TEST_CASE(
    "async_shared_mutex: readers behind a writer whose when_any() is won by another enter beside others") {
  coracle::run_loop loop;
  async_shared_mutex mutex;
  coracle::async_manual_reset_event event;
  coracle::stop_source stop;
  std::vector<int> stopped;
  std::string log;
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    co_await coracle::when_any(mutex.lock_async(), event);
  };
  REQUIRE(mutex.try_lock_shared());
  work();
  CHECK(loop.run_one());
  run_stoppable(stop.get_token(), mutex.lock_async(), stopped, 1);
  read(mutex, log, 'a');
  event.set();
  stop.request_stop();  // the second writer goes, and the first is lost
  CHECK(log == "a");
  mutex.unlock_shared();
  mutex.unlock_shared();
  while (loop.run_one()) {
  }
  CHECK(is_free(mutex));
}
}  // namespace
