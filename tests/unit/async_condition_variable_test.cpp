// tests/unit/async_condition_variable_test.cpp -- waiting under a lock for a change.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_condition_variable.hpp>
#include <coracle/testing/allocations.hpp>
#include <deque>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/is_free.hpp"
#include "async_condition_variable_waiters.hpp"

namespace {
using coracle::async_condition_variable;
using coracle::async_mutex;
using coracle_test::detached;
using coracle_test::is_free;
using coracle_test::shared;
using coracle_test::wait_once;

detached wait_once_on(coracle::run_loop& loop, shared& s, int name) {
  co_await loop.schedule();
  auto lock = co_await s.mutex.scoped_lock_async();
  co_await s.changed.wait(lock);
  s.log.push_back(coracle::current_executor() == &loop ? name : -name);
}

TEST_CASE("async_condition_variable: a wait gives up the lock, and has it again after notify_one()") {
  shared s;
  wait_once(s, 1);
  CHECK(is_free(s.mutex));
  CHECK(s.log.empty());
  s.changed.notify_one();
  CHECK(s.log == std::vector{1});
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: a notification that nobody waits for is forgotten") {
  shared s;
  s.changed.notify_one();
  s.changed.notify_all();
  wait_once(s, 1);
  CHECK(s.log.empty());
  s.changed.notify_one();
  CHECK(s.log == std::vector{1});
}

TEST_CASE("async_condition_variable: notify_one() lets the one go on that has waited longest") {
  shared s;
  for (int name = 1; name != 4; ++name) wait_once(s, name);
  s.changed.notify_one();
  CHECK(s.log == std::vector{1});
  wait_once(s, 4);
  s.changed.notify_one();
  s.changed.notify_one();
  s.changed.notify_one();
  CHECK(s.log == std::vector{1, 2, 3, 4});
}

TEST_CASE("async_condition_variable: notify_all() lets all go on that wait now, in order, and nobody else") {
  shared s;
  for (int name = 1; name != 4; ++name) wait_once(s, name);
  s.changed.notify_all();
  CHECK(s.log == std::vector{1, 2, 3});
  wait_once(s, 4);
  CHECK(s.log.size() == 3);
  s.changed.notify_all();
  CHECK(s.log == std::vector{1, 2, 3, 4});
}

TEST_CASE("async_condition_variable: a waiter that waits again is not woken twice by one notify_all()") {
  shared s;
  const auto wait_twice = [&](int name) -> detached {
    auto lock = co_await s.mutex.scoped_lock_async();
    co_await s.changed.wait(lock);
    s.log.push_back(name);
    co_await s.changed.wait(lock);
    s.log.push_back(name + 10);
  };
  wait_twice(1);
  wait_twice(2);
  s.changed.notify_all();
  CHECK(s.log == std::vector{1, 2});
  s.changed.notify_all();
  CHECK(s.log == std::vector{1, 2, 11, 12});
}

TEST_CASE("async_condition_variable: who is notified while the lock is held goes on only when it is free") {
  shared s;
  wait_once(s, 1);
  wait_once(s, 2);
  REQUIRE(s.mutex.try_lock());
  s.changed.notify_one();
  s.changed.notify_all();
  CHECK(s.log.empty());
  s.mutex.unlock();
  CHECK(s.log == std::vector{1, 2});
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: notified waiters stand behind those who queue for the lock already") {
  shared s;
  wait_once(s, 1);
  REQUIRE(s.mutex.try_lock());
  const auto lock_only = [&](int name) -> detached {
    const auto lock = co_await s.mutex.scoped_lock_async();
    s.log.push_back(name);
  };
  lock_only(2);
  s.changed.notify_one();
  lock_only(3);
  s.mutex.unlock();
  CHECK(s.log == std::vector{2, 1, 3});
}

TEST_CASE("async_condition_variable: notify_all() posts one waiter at a time, as the lock becomes free") {
  coracle::run_loop loop;
  shared s;
  for (int name = 1; name != 4; ++name) wait_once_on(loop, s, name);
  CHECK(loop.run_pending() == 3);
  s.changed.notify_all();
  for (int woken = 1; woken != 4; ++woken) {
    CHECK(loop.run_pending() == 1);
    CHECK(s.log.size() == static_cast<std::size_t>(woken));
  }
  CHECK_FALSE(loop.run_one());
  CHECK(s.log == std::vector{1, 2, 3});
}

TEST_CASE("async_condition_variable: a waiter outside any executor goes on inside notify, on its thread") {
  shared s;
  std::thread::id waiter_ran_on;
  const auto wait = [&]() -> detached {
    auto lock = co_await s.mutex.scoped_lock_async();
    co_await s.changed.wait(lock);
    waiter_ran_on = std::this_thread::get_id();
  };
  wait();
  std::thread::id notifier, seen_after_notify;
  std::thread([&] {
    notifier = std::this_thread::get_id();
    s.changed.notify_one();
    seen_after_notify = waiter_ran_on;
  }).join();
  CHECK(seen_after_notify == notifier);
  CHECK(seen_after_notify != std::this_thread::get_id());
}

TEST_CASE("async_condition_variable: waiters with different mutexes are served each under its own") {
  shared s;
  async_mutex other;
  const auto wait = [&](async_mutex& mutex, int name) -> detached {
    auto lock = co_await mutex.scoped_lock_async();
    co_await s.changed.wait(lock);
    s.log.push_back(is_free(mutex) ? -name : name);
  };
  wait(s.mutex, 1);
  wait(other, 2);
  REQUIRE(s.mutex.try_lock());
  s.changed.notify_all();
  CHECK(s.log == std::vector{2});
  s.mutex.unlock();
  CHECK(s.log == std::vector{2, 1});
}

TEST_CASE("async_condition_variable: 10'000 handshakes of two coroutines outside any executor end") {
  constexpr int turns = 10'000;
  shared s;
  const auto play = [&](int me) -> detached {
    auto lock = co_await s.mutex.scoped_lock_async();
    const auto my_turn = [&s, me] { return s.value % 2 == me; };
    for (int i = 0; i != turns; ++i) {
      co_await s.changed.wait(lock, my_turn);
      ++s.value;
      s.changed.notify_one();
    }
  };
  play(1);
  play(0);
  CHECK(s.value == 2 * turns);
  CHECK(is_free(s.mutex));
}

TEST_CASE("async_condition_variable: a bounded buffer hands on every item once, from a pool to a thread") {
  constexpr int items = 1000;
  coracle::static_thread_pool pool{2};
  shared s;
  async_condition_variable not_full, not_empty;
  std::deque<int> buffer;
  const auto produce = [&]() -> coracle::task<> {
    co_await pool.schedule();
    const auto has_room = [&] { return buffer.size() < 4; };
    for (int i = 1; i <= items; ++i) {
      auto lock = co_await s.mutex.scoped_lock_async();
      co_await not_full.wait(lock, has_room);
      buffer.push_back(i);
      not_empty.notify_one();
    }
  };
  const auto consume = [&]() -> coracle::task<long> {
    long sum = 0;
    const auto is_filled = [&] { return !buffer.empty(); };
    for (int i = 0; i != items; ++i) {
      auto lock = co_await s.mutex.scoped_lock_async();
      co_await not_empty.wait(lock, is_filled);
      sum += buffer.front();
      buffer.pop_front();
      not_full.notify_one();
    }
    co_return sum;
  };
  std::thread producer([&] { coracle::sync_wait(produce()); });
  CHECK(coracle::sync_wait(consume()) == items * (items + 1L) / 2);
  producer.join();
}

TEST_CASE("async_condition_variable: a notified waiter may destroy it") {
  async_mutex mutex;
  auto changed = std::make_optional<async_condition_variable>();
  const auto wait = [&](bool is_last) -> detached {
    auto lock = co_await mutex.scoped_lock_async();
    co_await changed->wait(lock);
    if (is_last) changed.reset();
  };
  wait(false);
  wait(true);
  changed->notify_all();
  CHECK_FALSE(changed.has_value());
  changed.emplace();
  wait(true);
  changed->notify_one();
  CHECK_FALSE(changed.has_value());
}

TEST_CASE("async_condition_variable: destroyed while a coroutine waits ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          shared s;
          wait_once(s, 1);
        }) ==
        "coracle: an async_condition_variable was destroyed while coroutines wait for it: stop and join them "
        "first\n");
}

TEST_CASE("async_condition_variable: a wait with a lock that was moved from ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          shared s;
          const auto wait = [&]() -> detached {
            auto lock = co_await s.mutex.scoped_lock_async();
            const auto moved_to = std::move(lock);
            co_await s.changed.wait(lock);
          };
          wait();
        }) == "coracle: wait() of an async_condition_variable with a lock that was moved from\n");
}

TEST_CASE("async_condition_variable: waiting and notifying allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  shared s;
  int turns = 0;
  const auto take_turns = [&](int wanted) -> detached {
    auto lock = co_await s.mutex.scoped_lock_async();
    const auto reached = [&s, wanted] { return s.value >= wanted; };
    co_await s.changed.wait(lock);
    co_await s.changed.wait(lock, reached);
    ++turns;
  };
  take_turns(1);
  take_turns(2);
  const auto before = coracle::testing::allocations();
  for (; s.value != 3; ++s.value) s.changed.notify_all();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(turns == 2);
}

TEST_CASE("async_mutex_lock: mutex() is the one it holds, and null after a move") {
  async_mutex mutex;
  REQUIRE(mutex.try_lock());
  auto first = coracle::async_mutex_lock::adopt(mutex);
  CHECK(first.mutex() == &mutex);
  const coracle::async_mutex_lock second{std::move(first)};
  CHECK(first.mutex() == nullptr);
  CHECK(second.mutex() == &mutex);
}

// The static guarantees of the header.
using coracle::async_mutex_lock;
using wait_awaiter = async_condition_variable::wait_operation;
using always = bool (*)() noexcept;
static_assert(sizeof(async_condition_variable) == 24);
static_assert(std::is_nothrow_default_constructible_v<async_condition_variable>);
static_assert(!std::is_copy_constructible_v<async_condition_variable> &&
              !std::is_move_constructible_v<async_condition_variable>);
static_assert(noexcept(std::declval<async_condition_variable&>().notify_one()) &&
              noexcept(std::declval<async_condition_variable&>().notify_all()) &&
              noexcept(std::declval<async_condition_variable&>().wait(std::declval<async_mutex_lock&>())) &&
              noexcept(std::declval<async_condition_variable&>().wait(std::declval<async_mutex_lock&>(),
                                                                      std::declval<always>())));
static_assert(noexcept(std::declval<wait_awaiter&>().await_ready()) &&
              noexcept(std::declval<wait_awaiter&>().await_suspend(std::noop_coroutine())) &&
              !noexcept(std::declval<wait_awaiter&>().await_resume()));
static_assert(std::is_void_v<coracle::await_result_t<wait_awaiter>>);
static_assert(std::is_void_v<coracle::await_result_t<decltype(std::declval<async_condition_variable&>().wait(
                  std::declval<async_mutex_lock&>(), std::declval<always>()))>>);
}  // namespace
