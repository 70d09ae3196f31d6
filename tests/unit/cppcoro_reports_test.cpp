// tests/unit/cppcoro_reports_test.cpp -- bugs that users of cppcoro reported do not exist here.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/sync/async_shared_mutex.hpp>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/many.hpp"
#include "../support/run_on_stack.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::task;
using coracle_test::detached;

constexpr std::size_t small_stack = 256 * 1024;
constexpr int million = coracle_test::many(1'000'000), many = 50'000;

TEST_CASE("cppcoro: a million coroutines that wait for a mutex, and then unlock it, overflowed the stack") {
  int held = 0;
  const bool ran = coracle_test::run_on_stack(small_stack, [&] {
    coracle::async_mutex mutex;
    const auto lock_once = [&]() -> detached {
      const auto lock = co_await mutex.scoped_lock_async();
      ++held;
    };
    REQUIRE(mutex.try_lock());
    for (int i = 0; i != million; ++i) lock_once();
    CHECK(held == 0);
    mutex.unlock();
  });
  CHECK(ran);
  CHECK(held == million);
}

TEST_CASE("cppcoro: many coroutines of a thread pool that lock a mutex three times overflowed the stack") {
  static_thread_pool pool{4};
  coracle::async_mutex mutex;
  int held = 0;
  const auto lock_thrice = [&]() -> task<> {
    co_await pool.schedule();
    for (int i = 0; i != 3; ++i) {
      co_await mutex.lock_async();
      ++held;
      mutex.unlock();
    }
  };
  std::vector<task<>> tasks;
  for (int i = 0; i != many; ++i) tasks.push_back(lock_thrice());
  coracle::sync_wait(coracle::when_all(std::move(tasks)));
  CHECK(held == 3 * many);
}

TEST_CASE(
    "cppcoro: many coroutines that wait for an auto-reset event, and then set it, overflowed the stack") {
  int woken = 0;
  const bool ran = coracle_test::run_on_stack(small_stack, [&] {
    coracle::async_auto_reset_event event;
    const auto wait_once = [&]() -> detached {
      co_await event;
      ++woken;
      event.set();
    };
    for (int i = 0; i != many; ++i) wait_once();
    event.set();
  });
  CHECK(ran);
  CHECK(woken == many);
}

TEST_CASE("cppcoro: a chain of wake-ups through a semaphore or a shared mutex needs no more stack either") {
  int held = 0;
  const bool ran = coracle_test::run_on_stack(small_stack, [&] {
    coracle::async_semaphore semaphore{0};
    coracle::async_shared_mutex mutex;
    const auto take_turns = [&](bool is_reader) -> detached {
      const auto permit = co_await semaphore.scoped_acquire();
      if (is_reader) {
        const auto shared = co_await mutex.scoped_lock_shared_async();
        ++held;
      } else {
        const auto lock = co_await mutex.scoped_lock_async();
        ++held;
      }
    };
    for (int i = 0; i != many; ++i) take_turns(i % 2 == 0);
    REQUIRE(mutex.try_lock());
    semaphore.release(many);
    CHECK(held == 0);
    mutex.unlock();
  });
  CHECK(ran);
  CHECK(held == many);
}

TEST_CASE("cppcoro: the code behind unlock() ran only after all that waited for the mutex had had it") {
  coracle::run_loop loop;
  coracle::async_mutex mutex;
  std::vector<int> log;
  const auto work = [&](int name) -> detached {
    co_await loop.schedule();
    {
      const auto lock = co_await mutex.scoped_lock_async();
      co_await loop.schedule();
      log.push_back(name);
    }
    log.push_back(-name);
  };
  for (int name = 1; name != 4; ++name) work(name);
  while (loop.run_one()) {
  }
  CHECK(log == std::vector{1, -1, 2, -2, 3, -3});
}

TEST_CASE("cppcoro: a pool thread that found work while it was being woken slept through later work") {
  constexpr int rounds = 500, falls_asleep_within = 300'000;
  std::atomic<int> arrived{0}, answered{0};
  std::optional<static_thread_pool> pool{2};
  // Two coroutines that wait for each other: both threads must take part.
  const auto meet = [&](int round) -> detached {
    co_await pool->schedule();
    ++arrived;
    while (arrived < 2 * (round + 1)) std::this_thread::yield();
    answered = round + 1;
  };
  coracle_test::post_one_by_one(rounds, falls_asleep_within, answered, [&](int round) {
    meet(round);
    meet(round);
  });
  pool.reset();  // the last pair still uses `meet`
  CHECK(answered == rounds);
}

TEST_CASE("cppcoro: sync_wait raced with the task that ends on a pool thread while it begins to wait") {
  static_thread_pool pool{1};
  const auto answer = [&](int number) -> task<std::unique_ptr<int>> {
    co_await pool.schedule();
    coracle_test::hold_up(7 * number % 200);
    co_return std::make_unique<int>(number);
  };
  int wrong = 0;
  for (int i = 0; i != 5'000; ++i) wrong += *coracle::sync_wait(answer(i)) != i;
  CHECK(wrong == 0);
}
}  // namespace
