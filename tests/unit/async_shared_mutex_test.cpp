// tests/unit/async_shared_mutex_test.cpp -- concurrent readers, exclusive writers, no overtaking.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_shared_mutex.hpp>
#include <coracle/testing/allocations.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/is_free.hpp"
#include "async_shared_mutex_waiters.hpp"

namespace {
using coracle::async_shared_mutex;
using coracle::async_shared_mutex_lock;
using coracle::async_shared_mutex_shared_lock;
using coracle_test::detached;
using coracle_test::is_free;
using coracle_test::read;
using coracle_test::write;

detached write_on(coracle::run_loop& loop, async_shared_mutex& mutex, std::string& log, char name) {
  co_await loop.schedule();
  co_await mutex.lock_async();
  log += coracle::current_executor() == &loop ? name : '?';
}

detached read_on(coracle::run_loop& loop, async_shared_mutex& mutex, std::string& log, char name) {
  co_await loop.schedule();
  co_await mutex.lock_shared_async();
  log += coracle::current_executor() == &loop ? name : '?';
}

TEST_CASE("async_shared_mutex: any number of readers hold it at once, and no writer beside them") {
  async_shared_mutex mutex;
  std::string log;
  read(mutex, log, 'a');
  read(mutex, log, 'b');
  REQUIRE(mutex.try_lock_shared());
  CHECK(log == "ab");
  CHECK_FALSE(mutex.try_lock());
  for (int i = 0; i != 3; ++i) mutex.unlock_shared();
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: a writer holds it alone") {
  async_shared_mutex mutex;
  std::string log;
  write(mutex, log, 'A');
  CHECK(log == "A");
  CHECK_FALSE(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock_shared());
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: a writer waits until the last reader has left") {
  async_shared_mutex mutex;
  std::string log;
  read(mutex, log, 'a');
  read(mutex, log, 'b');
  write(mutex, log, 'A');
  mutex.unlock_shared();
  CHECK(log == "ab");
  mutex.unlock_shared();
  CHECK(log == "abA");
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: a waiting writer keeps out readers that come later") {
  async_shared_mutex mutex;
  std::string log;
  read(mutex, log, 'a');
  write(mutex, log, 'A');
  read(mutex, log, 'b');
  CHECK_FALSE(mutex.try_lock_shared());
  CHECK(log == "a");
  mutex.unlock_shared();
  CHECK(log == "aA");
  mutex.unlock();
  CHECK(log == "aAb");
  REQUIRE(mutex.try_lock_shared());
  mutex.unlock_shared();
  mutex.unlock_shared();
}

TEST_CASE(
    "async_shared_mutex: when a writer leaves, the readers in front of the next writer enter together") {
  async_shared_mutex mutex;
  std::string log;
  write(mutex, log, 'A');
  read(mutex, log, 'a');
  read(mutex, log, 'b');
  write(mutex, log, 'B');
  read(mutex, log, 'c');
  write(mutex, log, 'C');
  write(mutex, log, 'D');
  mutex.unlock();
  CHECK(log == "Aab");
  mutex.unlock_shared();
  CHECK(log == "Aab");
  mutex.unlock_shared();
  CHECK(log == "AabB");
  mutex.unlock();
  CHECK(log == "AabBc");
  mutex.unlock_shared();
  CHECK(log == "AabBcC");
  mutex.unlock();
  CHECK(log == "AabBcCD");
  mutex.unlock();
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: who comes while the lock is handed on waits behind all who came before") {
  async_shared_mutex mutex;
  std::string log;
  write(mutex, log, 'A');
  write(mutex, log, 'B');
  write(mutex, log, 'C');
  mutex.unlock();
  read(mutex, log, 'a');
  write(mutex, log, 'D');
  CHECK(log == "AB");
  mutex.unlock();
  mutex.unlock();
  CHECK(log == "ABCa");
  mutex.unlock_shared();
  CHECK(log == "ABCaD");
  mutex.unlock();
}

TEST_CASE("async_shared_mutex: after the queue is empty a reader enters beside those of the last batch") {
  async_shared_mutex mutex;
  std::string log;
  write(mutex, log, 'A');
  read(mutex, log, 'a');
  mutex.unlock();
  read(mutex, log, 'b');
  CHECK(log == "Aab");
  mutex.unlock_shared();
  mutex.unlock_shared();
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: scoped locks are held across an await and unlock at the end of their scope") {
  async_shared_mutex mutex;
  coracle::async_manual_reset_event reading, writing;
  const auto read_inside = [&]() -> detached {
    const auto shared = co_await mutex.scoped_lock_shared_async();
    co_await reading;
  };
  const auto write_inside = [&]() -> detached {
    const auto lock = co_await mutex.scoped_lock_async();
    co_await writing;
  };
  read_inside();
  write_inside();
  CHECK_FALSE(mutex.try_lock_shared());
  reading.set();
  CHECK_FALSE(mutex.try_lock_shared());
  writing.set();
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: scoped locks that were moved from do not unlock") {
  async_shared_mutex mutex;
  REQUIRE(mutex.try_lock());
  {
    auto first = async_shared_mutex_lock::adopt(mutex);
    const async_shared_mutex_lock second{std::move(first)};
    CHECK_FALSE(mutex.try_lock_shared());
  }
  REQUIRE(mutex.try_lock_shared());
  {
    auto first = async_shared_mutex_shared_lock::adopt(mutex);
    const async_shared_mutex_shared_lock second{std::move(first)};
    CHECK_FALSE(mutex.try_lock());
  }
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: assigning to a scoped lock unlocks what it held, and takes over the other's") {
  async_shared_mutex one, two;
  REQUIRE(one.try_lock());
  REQUIRE(two.try_lock());
  {
    auto lock = async_shared_mutex_lock::adopt(one), other = async_shared_mutex_lock::adopt(two);
    lock = std::move(other);
    CHECK(is_free(one));
    async_shared_mutex_lock& same = lock;
    lock = std::move(same);
    CHECK_FALSE(is_free(two));
    lock = std::move(other);  // which holds none
    CHECK(is_free(two));
  }
  REQUIRE(one.try_lock_shared());
  REQUIRE(two.try_lock_shared());
  {
    auto lock = async_shared_mutex_shared_lock::adopt(one);
    auto other = async_shared_mutex_shared_lock::adopt(two);
    lock = std::move(other);
    CHECK(is_free(one));
    async_shared_mutex_shared_lock& same = lock;
    lock = std::move(same);
    CHECK_FALSE(is_free(two));
  }
  CHECK(is_free(two));
}

TEST_CASE("async_shared_mutex: an exception that leaves the scope unlocks and lets the next in") {
  async_shared_mutex mutex;
  std::string log;
  const auto fail = [&](bool alone) -> coracle::task<> {
    std::optional<async_shared_mutex_lock> lock;
    std::optional<async_shared_mutex_shared_lock> shared;
    if (alone) {
      lock.emplace(co_await mutex.scoped_lock_async());
    } else {
      shared.emplace(co_await mutex.scoped_lock_shared_async());
    }
    write(mutex, log, 'A');
    throw std::runtime_error("while locked");
  };
  CHECK_THROWS_WITH_AS(coracle::sync_wait(fail(true)), "while locked", std::runtime_error);
  CHECK(log == "A");
  mutex.unlock();
  CHECK_THROWS_WITH_AS(coracle::sync_wait(fail(false)), "while locked", std::runtime_error);
  CHECK(log == "AA");
  mutex.unlock();
}

TEST_CASE("async_shared_mutex: waiters outside any executor run inside unlock(), on the unlocking thread") {
  async_shared_mutex mutex;
  std::thread::id ran_on[2];
  const auto wait = [&](int i) -> detached {
    const auto shared = co_await mutex.scoped_lock_shared_async();
    ran_on[i] = std::this_thread::get_id();
  };
  REQUIRE(mutex.try_lock());
  wait(0);
  wait(1);
  std::thread::id unlocker, seen[2];
  std::thread([&] {
    unlocker = std::this_thread::get_id();
    mutex.unlock();
    seen[0] = ran_on[0];
    seen[1] = ran_on[1];
  }).join();
  CHECK(seen[0] == unlocker);
  CHECK(seen[1] == unlocker);
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: 1000 readers and writers in turn run before the first unlock() returns") {
  async_shared_mutex mutex;
  int writes = 0, out_of_order = 0;
  const auto read_briefly = [&](int number) -> detached {
    const auto shared = co_await mutex.scoped_lock_shared_async();
    out_of_order += writes != number;
  };
  const auto write_briefly = [&](int number) -> detached {
    const auto lock = co_await mutex.scoped_lock_async();
    out_of_order += writes++ != number;
  };
  REQUIRE(mutex.try_lock());
  for (int number = 0; number != 1000; ++number) {
    read_briefly(number);
    read_briefly(number);
    write_briefly(number);
  }
  CHECK(writes == 0);
  mutex.unlock();
  CHECK(writes == 1000);
  CHECK(out_of_order == 0);
  CHECK(is_free(mutex));
}

TEST_CASE("async_shared_mutex: each waiter resumes on its own executor, unlock() runs none of them") {
  coracle::run_loop first, second;
  async_shared_mutex mutex;
  std::string log;
  REQUIRE(mutex.try_lock());
  read_on(first, mutex, log, 'a');
  read_on(second, mutex, log, 'b');
  CHECK(first.run_one());
  CHECK(second.run_one());
  mutex.unlock();
  CHECK(log.empty());
  CHECK_FALSE(second.run_one());
  CHECK(first.run_one());
  CHECK(log == "a");
  CHECK(second.run_one());
  CHECK(log == "ab");
  mutex.unlock_shared();
  mutex.unlock_shared();
}

TEST_CASE("async_shared_mutex: a lock taken without waiting stays on its executor without a post") {
  coracle::run_loop loop;
  async_shared_mutex mutex;
  std::string log;
  read_on(loop, mutex, log, 'a');
  CHECK(loop.run_one());
  CHECK(log == "a");
  mutex.unlock_shared();
  write_on(loop, mutex, log, 'A');
  CHECK(loop.run_one());
  CHECK(log == "aA");
  mutex.unlock();
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("async_shared_mutex: a waiter of a thread pool resumes on that pool and sees what was written") {
  coracle::static_thread_pool pool{1};
  async_shared_mutex mutex;
  coracle::async_manual_reset_event about_to_wait;
  int written = 0;
  REQUIRE(mutex.try_lock());
  const auto wait = [&]() -> coracle::task<int> {
    co_await pool.schedule();
    about_to_wait.set();
    const auto shared = co_await mutex.scoped_lock_shared_async();
    co_return coracle::current_executor() == &pool ? written : -1;
  };
  std::thread unlocker([&] {
    coracle::sync_wait(about_to_wait);
    written = 42;
    mutex.unlock();
  });
  CHECK(coracle::sync_wait(wait()) == 42);
  unlocker.join();
}

TEST_CASE("async_shared_mutex: the last to hold it may destroy it as soon as it has unlocked") {
  auto mutex = std::make_optional<async_shared_mutex>();
  const auto wait = [&](bool is_last) -> detached {
    co_await mutex->lock_async();
    mutex->unlock();
    if (is_last) mutex.reset();
  };
  REQUIRE(mutex->try_lock_shared());
  wait(false);
  wait(true);
  mutex->unlock_shared();
  CHECK_FALSE(mutex.has_value());
}

TEST_CASE("async_shared_mutex: destroyed while held ends the program and says so") {
  const std::string message =
      "coracle: an async_shared_mutex was destroyed while it was held: unlock it first\n";
  CHECK(coracle_test::abort_message([] {
          async_shared_mutex mutex;
          static_cast<void>(mutex.try_lock());
        }) == message);
  CHECK(coracle_test::abort_message([] {
          async_shared_mutex mutex;
          static_cast<void>(mutex.try_lock_shared());
        }) == message);
}

TEST_CASE("async_shared_mutex: to unlock what is not held ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          async_shared_mutex mutex;
          static_cast<void>(mutex.try_lock_shared());
          mutex.unlock();
        }) ==
        "coracle: unlock() of an async_shared_mutex that no writer holds: readers call unlock_shared()\n");
  CHECK(coracle_test::abort_message([] {
          async_shared_mutex mutex;
          static_cast<void>(mutex.try_lock());
          mutex.unlock_shared();
        }) ==
        "coracle: unlock_shared() of an async_shared_mutex that no reader holds: writers call unlock()\n");
}

TEST_CASE("async_shared_mutex: adopt() of what is not held ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          async_shared_mutex mutex;
          static_cast<void>(mutex.try_lock_shared());
          static_cast<void>(async_shared_mutex_lock::adopt(mutex));
        }) ==
        "coracle: adopt() of an async_shared_mutex that no writer holds: lock it first, or co_await "
        "scoped_lock_async()\n");
  CHECK(coracle_test::abort_message([] {
          async_shared_mutex mutex;
          static_cast<void>(mutex.try_lock());
          static_cast<void>(async_shared_mutex_shared_lock::adopt(mutex));
        }) ==
        "coracle: adopt() of an async_shared_mutex that no reader holds: lock it first, or co_await "
        "scoped_lock_shared_async()\n");
}

TEST_CASE("async_shared_mutex: locking, waiting and unlocking allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_shared_mutex mutex;
  int turns = 0;
  const auto take_turns = [&](bool alone) -> detached {
    for (int i = 0; i != 3; ++i) {
      if (alone) {
        const auto lock = co_await mutex.scoped_lock_async();
        ++turns;
      } else {
        const auto shared = co_await mutex.scoped_lock_shared_async();
        ++turns;
      }
    }
  };
  REQUIRE(mutex.try_lock());
  take_turns(true);
  take_turns(false);
  take_turns(false);
  const auto before = coracle::testing::allocations();
  mutex.unlock();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(turns == 9);
}

// The static guarantees of the header.
static_assert(std::is_nothrow_move_assignable_v<async_shared_mutex_lock> &&
              std::is_nothrow_move_assignable_v<async_shared_mutex_shared_lock>);
using lock_awaiter = async_shared_mutex::lock_operation;
static_assert(sizeof(async_shared_mutex) == 24);
static_assert(std::is_nothrow_default_constructible_v<async_shared_mutex>);
static_assert(!std::is_copy_constructible_v<async_shared_mutex> &&
              !std::is_move_constructible_v<async_shared_mutex>);
static_assert(noexcept(std::declval<async_shared_mutex&>().try_lock()) &&
              noexcept(std::declval<async_shared_mutex&>().try_lock_shared()) &&
              noexcept(std::declval<async_shared_mutex&>().unlock()) &&
              noexcept(std::declval<async_shared_mutex&>().unlock_shared()) &&
              noexcept(std::declval<async_shared_mutex&>().scoped_lock_async()) &&
              noexcept(std::declval<async_shared_mutex&>().scoped_lock_shared_async()));
static_assert(noexcept(std::declval<lock_awaiter&>().await_ready()) &&
              noexcept(std::declval<lock_awaiter&>().await_suspend(std::noop_coroutine())) &&
              !noexcept(std::declval<lock_awaiter&>().await_resume()));
static_assert(std::is_void_v<coracle::await_result_t<async_shared_mutex::lock_operation>> &&
              std::is_void_v<coracle::await_result_t<async_shared_mutex::lock_shared_operation>>);
static_assert(std::is_same_v<coracle::await_result_t<async_shared_mutex::scoped_lock_operation>,
                             async_shared_mutex_lock>);
static_assert(std::is_same_v<coracle::await_result_t<async_shared_mutex::scoped_lock_shared_operation>,
                             async_shared_mutex_shared_lock>);
static_assert(!std::is_copy_constructible_v<async_shared_mutex_lock> &&
              std::is_nothrow_move_constructible_v<async_shared_mutex_lock>);
static_assert(!std::is_copy_constructible_v<async_shared_mutex_shared_lock> &&
              std::is_nothrow_move_constructible_v<async_shared_mutex_shared_lock>);
}  // namespace
