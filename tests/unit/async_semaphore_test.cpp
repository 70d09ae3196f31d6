// tests/unit/async_semaphore_test.cpp -- permits, and the order in which coroutines get them.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/testing/allocations.hpp>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/stoppable.hpp"

namespace {
using coracle::async_semaphore;
using coracle_test::detached;
using coracle_test::run_stoppable;
using coracle_test::run_stoppable_on;

/// Keeps the permit; the test releases it.
detached acquire_and_log(async_semaphore& semaphore, std::vector<int>& log, int name) {
  co_await semaphore.acquire();
  log.push_back(name);
}
detached acquire_on(coracle::run_loop& loop, async_semaphore& semaphore, std::vector<int>& log, int name) {
  co_await loop.schedule();
  co_await semaphore.acquire();
  log.push_back(coracle::current_executor() == &loop ? name : -name);
}
/// Takes all free permits, and returns their number.
int drain(async_semaphore& semaphore) {
  int permits = 0;
  while (semaphore.try_acquire()) ++permits;
  return permits;
}

TEST_CASE("async_semaphore: as many acquires as there are permits do not suspend, the next one does") {
  async_semaphore semaphore{2};
  std::vector<int> log;
  for (int name = 1; name != 4; ++name) acquire_and_log(semaphore, log, name);
  CHECK(log == std::vector{1, 2});
  semaphore.release();
  CHECK(log == std::vector{1, 2, 3});
  CHECK(drain(semaphore) == 0);
}

TEST_CASE("async_semaphore: one that begins without permits makes everybody wait") {
  async_semaphore semaphore{0};
  std::vector<int> log;
  CHECK_FALSE(semaphore.try_acquire());
  acquire_and_log(semaphore, log, 1);
  CHECK(log.empty());
  semaphore.release();
  CHECK(log == std::vector{1});
}

TEST_CASE("async_semaphore: each release() serves one waiter, first come, first served") {
  async_semaphore semaphore{0};
  std::vector<int> log;
  for (int name = 1; name != 4; ++name) acquire_and_log(semaphore, log, name);
  semaphore.release();
  CHECK(log == std::vector{1});
  acquire_and_log(semaphore, log, 4);
  semaphore.release();
  semaphore.release();
  semaphore.release();
  CHECK(log == std::vector{1, 2, 3, 4});
}

TEST_CASE("async_semaphore: release(n) serves n waiters in order and keeps what is left") {
  async_semaphore semaphore{0};
  std::vector<int> log;
  for (int name = 1; name != 6; ++name) acquire_and_log(semaphore, log, name);
  semaphore.release(2);
  CHECK(log == std::vector{1, 2});
  semaphore.release(5);
  CHECK(log == std::vector{1, 2, 3, 4, 5});
  CHECK(drain(semaphore) == 2);
  acquire_and_log(semaphore, log, 6);
  CHECK(log.size() == 5);
  semaphore.release();
  CHECK(log == std::vector{1, 2, 3, 4, 5, 6});
}

TEST_CASE("async_semaphore: release(0) changes nothing") {
  async_semaphore semaphore{0};
  std::vector<int> log;
  semaphore.release(0);
  acquire_and_log(semaphore, log, 1);
  semaphore.release(0);
  CHECK(log.empty());
  semaphore.release();
  CHECK(log == std::vector{1});
  CHECK(drain(semaphore) == 0);
}

TEST_CASE("async_semaphore: a permit is handed over, try_acquire cannot barge in between") {
  for (const int permits : {0, 2}) {
    coracle::run_loop loop;
    async_semaphore semaphore{permits};
    std::vector<int> log;
    CHECK(drain(semaphore) == permits);
    acquire_on(loop, semaphore, log, 1);
    CHECK(loop.run_one());
    semaphore.release();
    CHECK(log.empty());
    CHECK_FALSE(semaphore.try_acquire());
    CHECK(loop.run_one());
    CHECK(log == std::vector{1});
  }
}

TEST_CASE("async_semaphore: a permit is held across an await and given back at the end of its scope") {
  async_semaphore semaphore{1};
  coracle::async_manual_reset_event inside;
  const auto work = [&]() -> detached {
    const auto permit = co_await semaphore.scoped_acquire();
    co_await inside;
  };
  work();
  CHECK_FALSE(semaphore.try_acquire());
  inside.set();
  CHECK(drain(semaphore) == 1);
}

TEST_CASE("async_semaphore: a permit that was moved from gives nothing back") {
  async_semaphore semaphore{1};
  REQUIRE(semaphore.try_acquire());
  {
    auto first = coracle::async_semaphore_permit::adopt(semaphore);
    {
      const coracle::async_semaphore_permit second{std::move(first)};
      CHECK_FALSE(semaphore.try_acquire());
    }
    REQUIRE(semaphore.try_acquire());
  }
  CHECK(drain(semaphore) == 0);
}

TEST_CASE("async_semaphore: assigning to a permit releases what it held, and takes over the other's") {
  async_semaphore one{1}, two{1};
  REQUIRE(one.try_acquire());
  REQUIRE(two.try_acquire());
  {
    auto permit = coracle::async_semaphore_permit::adopt(one);
    auto other = coracle::async_semaphore_permit::adopt(two);
    permit = std::move(other);
    CHECK(drain(one) == 1);
    coracle::async_semaphore_permit& same = permit;
    permit = std::move(same);
    CHECK(drain(two) == 0);
  }
  CHECK(drain(one) == 0);
  CHECK(drain(two) == 1);
}

TEST_CASE("async_semaphore: an exception that leaves the scope gives the permit to the next") {
  async_semaphore semaphore{1};
  std::vector<int> log;
  const auto fail = [&]() -> coracle::task<> {
    const auto permit = co_await semaphore.scoped_acquire();
    acquire_and_log(semaphore, log, 1);
    CHECK(log.empty());
    throw std::runtime_error("with a permit");
  };
  CHECK_THROWS_WITH_AS(coracle::sync_wait(fail()), "with a permit", std::runtime_error);
  CHECK(log == std::vector{1});
}

TEST_CASE("async_semaphore: a waiter outside any executor runs inside release(), on the releasing thread") {
  async_semaphore semaphore{0};
  std::thread::id waiter_ran_on;
  const auto wait = [&]() -> detached {
    co_await semaphore.acquire();
    waiter_ran_on = std::this_thread::get_id();
  };
  wait();
  std::thread::id releaser, seen_after_release;
  std::thread([&] {
    releaser = std::this_thread::get_id();
    semaphore.release();
    seen_after_release = waiter_ran_on;
  }).join();
  CHECK(seen_after_release == releaser);
  CHECK(seen_after_release != std::this_thread::get_id());
}

TEST_CASE("async_semaphore: 1000 waiters that release at once run before the first release() returns") {
  async_semaphore semaphore{0};
  std::vector<int> log;
  const auto acquire_briefly = [&](int name) -> detached {
    const auto permit = co_await semaphore.scoped_acquire();
    log.push_back(name);
  };
  for (int name = 0; name != 1000; ++name) acquire_briefly(name);
  semaphore.release();
  REQUIRE(log.size() == 1000);
  CHECK(std::is_sorted(log.begin(), log.end()));
  CHECK(drain(semaphore) == 1);
}

TEST_CASE("async_semaphore: each waiter resumes on its own executor, release() runs none of them") {
  coracle::run_loop first, second;
  async_semaphore semaphore{0};
  std::vector<int> log;
  acquire_on(first, semaphore, log, 1);
  acquire_on(second, semaphore, log, 2);
  CHECK(first.run_one());
  CHECK(second.run_one());
  semaphore.release(2);
  CHECK(log.empty());
  CHECK(second.run_one());
  CHECK(first.run_one());
  CHECK(log == std::vector{2, 1});
}

TEST_CASE(
    "async_semaphore: a permit taken without waiting leaves the coroutine where it is, without a post") {
  coracle::run_loop loop;
  async_semaphore semaphore{1};
  std::vector<int> log;
  acquire_on(loop, semaphore, log, 1);
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("async_semaphore: a waiter of a thread pool resumes on that pool") {
  coracle::static_thread_pool pool{1};
  async_semaphore semaphore{0}, suspended{0};
  const auto wait = [&]() -> coracle::task<bool> {
    co_await pool.schedule();
    suspended.release();
    co_await semaphore.acquire();
    co_return coracle::current_executor() == &pool;
  };
  std::thread releaser([&] {
    coracle::sync_wait(suspended.acquire());
    semaphore.release();
  });
  CHECK(coracle::sync_wait(wait()));
  releaser.join();
}

TEST_CASE("async_semaphore: sync_wait waits for another thread's release() and sees what it wrote") {
  async_semaphore semaphore{0};
  int written = 0;
  std::thread releaser([&] {
    written = 42;
    semaphore.release();
  });
  coracle::sync_wait(semaphore.acquire());
  CHECK(written == 42);
  releaser.join();
}

TEST_CASE("async_semaphore: the last waiter to be woken may destroy it") {
  auto semaphore = std::make_optional<async_semaphore>(0);
  const auto wait = [&](bool is_last) -> detached {
    co_await semaphore->acquire();
    if (is_last) semaphore.reset();
  };
  wait(false);
  wait(true);
  semaphore->release(2);
  CHECK_FALSE(semaphore.has_value());
}

TEST_CASE("async_semaphore: stop requested before the await: a free permit is not taken either") {
  async_semaphore semaphore{1};
  coracle::stop_source stop;
  std::vector<int> log;
  stop.request_stop();
  run_stoppable(stop.get_token(), semaphore.acquire(), log, 1);
  run_stoppable(stop.get_token(), semaphore.scoped_acquire(), log, 2);
  CHECK(log == std::vector{-1, -2});
  CHECK(drain(semaphore) == 1);
}

TEST_CASE("async_semaphore: a stop request ends the wait, the others keep their order and get the permits") {
  async_semaphore semaphore{0};
  coracle::stop_source stops[6];
  std::vector<int> log;
  for (int i = 0; i != 6; ++i) run_stoppable(stops[i].get_token(), semaphore.acquire(), log, i + 1);
  stops[3].request_stop();
  stops[5].request_stop();
  stops[0].request_stop();
  CHECK(log == std::vector{-4, -6, -1});
  semaphore.release(2);
  CHECK(log == std::vector{-4, -6, -1, 2, 3});
  acquire_and_log(semaphore, log, 7);
  semaphore.release(3);
  CHECK(log == std::vector{-4, -6, -1, 2, 3, 5, 7});
  CHECK(drain(semaphore) == 1);
}

TEST_CASE("async_semaphore: when the only waiter is cancelled the next release() keeps its permit") {
  async_semaphore semaphore{0};
  coracle::stop_source stop;
  std::vector<int> log;
  run_stoppable(stop.get_token(), semaphore.scoped_acquire(), log, 1);
  stop.request_stop();
  CHECK(log == std::vector{-1});
  CHECK_FALSE(semaphore.try_acquire());
  semaphore.release();
  CHECK(drain(semaphore) == 1);
}

TEST_CASE("async_semaphore: a stop request after the permit was handed over has no effect") {
  coracle::run_loop loop;
  async_semaphore semaphore{0};
  coracle::stop_source stop;
  std::vector<int> log;
  run_stoppable_on(stop.get_token(), loop, semaphore.acquire(), log, 1);
  CHECK(loop.run_one());
  semaphore.release();
  stop.request_stop();
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  CHECK(drain(semaphore) == 0);
}

TEST_CASE("async_semaphore: a cancelled waiter goes on where it suspended, not inside request_stop()") {
  coracle::run_loop loop;
  async_semaphore semaphore{0};
  coracle::stop_source stop;
  std::vector<int> log;
  run_stoppable_on(stop.get_token(), loop, semaphore.acquire(), log, 1);
  CHECK(loop.run_one());
  stop.request_stop();
  CHECK(log.empty());
  CHECK(loop.run_one());
  CHECK(log == std::vector{-1});
}

TEST_CASE("async_semaphore: 50'000 waiters are cancelled in any order, each in a moment") {
  async_semaphore semaphore{0};
  CHECK(coracle_test::cancels_many(50'000, false, [&] { return semaphore.acquire(); }));
  CHECK(coracle_test::cancels_many(50'000, true, [&] { return semaphore.acquire(); }));
  semaphore.release();
  CHECK(drain(semaphore) == 1);
}

TEST_CASE("async_semaphore: permits that find only waiters whose when_any() was won by another are kept") {
  coracle::run_loop loop;
  async_semaphore semaphore{0};
  coracle::async_manual_reset_event event;
  std::size_t winner = 9;
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    winner = (co_await coracle::when_any(semaphore.acquire(), event)).index();
  };
  work();
  CHECK(loop.run_one());
  event.set();
  semaphore.release(2);
  CHECK(semaphore.try_acquire());
  semaphore.release();
  while (loop.run_one()) {
  }
  CHECK(winner == 1);
  CHECK(drain(semaphore) == 2);
}

TEST_CASE("async_semaphore: destroyed while a coroutine waits ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          async_semaphore semaphore{0};
          std::vector<int> log;
          acquire_and_log(semaphore, log, 1);
        }) ==
        "coracle: an async_semaphore was destroyed while coroutines wait for it: stop and join them first\n");
}

TEST_CASE("async_semaphore: a negative number of permits ends the program and says so") {
  CHECK(coracle_test::abort_message([] { async_semaphore semaphore{-1}; }) ==
        "coracle: an async_semaphore was made with a negative number of permits: begin with 0 or more\n");
  CHECK(coracle_test::abort_message([] {
          async_semaphore semaphore{1};
          semaphore.release(-1);
        }) ==
        "coracle: release() of a negative number of permits of an async_semaphore: release 0 or more\n");
}

TEST_CASE("async_semaphore: holds max() permits, and more end the program and say so") {
  async_semaphore semaphore{async_semaphore::max()};
  REQUIRE(semaphore.try_acquire());
  semaphore.release();
  CHECK(coracle_test::abort_message([] { async_semaphore too_many{async_semaphore::max() + 1}; }) ==
        "coracle: an async_semaphore was made with more than max() permits: begin with fewer\n");
  CHECK(coracle_test::abort_message([] {
          async_semaphore full{async_semaphore::max()};
          full.release();
        }) ==
        "coracle: release() of more permits than an async_semaphore can have: release each that was acquired "
        "once\n");
}

TEST_CASE("async_semaphore: acquiring, waiting and releasing allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_semaphore semaphore{1};
  int turns = 0;
  const auto take_turns = [&]() -> detached {
    for (int i = 0; i != 3; ++i) {
      co_await semaphore.acquire();
      ++turns;
    }
  };
  REQUIRE(semaphore.try_acquire());
  take_turns();
  take_turns();
  const auto before = coracle::testing::allocations();
  for (int i = 0; i != 7; ++i) semaphore.release();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(turns == 6);
}

// The static guarantees of the header.
using acquire_awaiter = async_semaphore::acquire_operation;
static_assert(sizeof(async_semaphore) == 24);
static_assert(!std::is_copy_constructible_v<async_semaphore> &&
              !std::is_move_constructible_v<async_semaphore>);
static_assert(!std::is_convertible_v<int, async_semaphore>);
static_assert(std::is_nothrow_move_assignable_v<coracle::async_semaphore_permit>);
static_assert(noexcept(async_semaphore{1}) && noexcept(std::declval<async_semaphore&>().try_acquire()) &&
              noexcept(std::declval<async_semaphore&>().release()) &&
              noexcept(std::declval<async_semaphore&>().acquire()) &&
              noexcept(std::declval<async_semaphore&>().scoped_acquire()));
static_assert(noexcept(std::declval<acquire_awaiter&>().await_ready()) &&
              noexcept(std::declval<acquire_awaiter&>().await_suspend(std::noop_coroutine())) &&
              !noexcept(std::declval<acquire_awaiter&>().await_resume()));
static_assert(std::is_void_v<coracle::await_result_t<acquire_awaiter>>);
static_assert(std::is_same_v<coracle::await_result_t<async_semaphore::scoped_acquire_operation>,
                             coracle::async_semaphore_permit>);
static_assert(!std::is_copy_constructible_v<coracle::async_semaphore_permit> &&
              std::is_nothrow_move_constructible_v<coracle::async_semaphore_permit>);

TEST_CASE("async_semaphore: release() of so many that their number wraps around ends the program, too") {
  CHECK(coracle_test::abort_message([] {
          async_semaphore semaphore{0};
          semaphore.release(std::ptrdiff_t{1} << 62);
        }).find("coracle: release() of more permits than an async_semaphore can have") == 0);
}
}  // namespace
