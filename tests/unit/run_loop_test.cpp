// tests/unit/run_loop_test.cpp -- the scheduler that a thread runs, or a test runs step by step.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::run_loop;
using coracle_test::detached;

detached log_on(run_loop& loop, std::vector<int>& log, int name) {
  co_await loop.schedule();
  log.push_back(name);
}

TEST_CASE("run_loop: schedule() suspends, run_one() resumes one, first posted, first run") {
  run_loop loop;
  std::vector<int> log;
  for (int name = 1; name != 4; ++name) log_on(loop, log, name);
  CHECK(log.empty());
  CHECK(loop.run_one());
  CHECK(log == std::vector{1});
  log_on(loop, log, 4);
  while (loop.run_one()) {
  }
  CHECK(log == std::vector{1, 2, 3, 4});
}

TEST_CASE("run_loop: run_one() of an empty loop says so") {
  run_loop loop;
  CHECK_FALSE(loop.run_one());
  CHECK(loop.run_pending() == 0);
}

TEST_CASE("run_loop: schedule() from the loop itself goes behind what is queued") {
  run_loop loop;
  std::vector<int> log;
  const auto twice = [&]() -> detached {
    co_await loop.schedule();
    log.push_back(1);
    co_await loop.schedule();
    log.push_back(3);
  };
  twice();
  log_on(loop, log, 2);
  while (loop.run_one()) {
  }
  CHECK(log == std::vector{1, 2, 3});
}

TEST_CASE("run_loop: run_pending() runs what was queued, not what that posts") {
  run_loop loop;
  std::vector<int> log;
  const auto twice = [&](int name) -> detached {
    co_await loop.schedule();
    log.push_back(name);
    co_await loop.schedule();
    log.push_back(10 * name);
  };
  twice(1);
  twice(2);
  CHECK(loop.run_pending() == 2);
  CHECK(log == std::vector{1, 2});
  CHECK(loop.run_pending() == 2);
  CHECK(log == std::vector{1, 2, 10, 20});
  CHECK(loop.run_pending() == 0);
}

TEST_CASE("run_loop: run_pending() takes what run_one() left as well as what came since, in order") {
  run_loop loop;
  std::vector<int> log;
  for (int name = 1; name != 4; ++name) log_on(loop, log, name);
  CHECK(loop.run_one());
  log_on(loop, log, 4);
  CHECK(loop.run_pending() == 3);
  CHECK(log == std::vector{1, 2, 3, 4});
}

TEST_CASE("run_loop: current_executor() is the loop inside, and what it was before outside") {
  run_loop outer, inner;
  std::vector<const coracle::executor*> seen;
  const auto look = [&](run_loop& loop) -> detached {
    co_await loop.schedule();
    seen.push_back(coracle::current_executor());
  };
  const auto nest = [&]() -> detached {
    co_await outer.schedule();
    look(inner);
    CHECK(inner.run_one());
    look(inner);
    CHECK(inner.run_pending() == 1);
    look(inner);
    inner.stop();
    inner.run();
    seen.push_back(coracle::current_executor());
  };
  nest();
  CHECK(coracle::current_executor() == nullptr);
  CHECK(outer.run_one());
  CHECK(coracle::current_executor() == nullptr);
  CHECK(seen == std::vector<const coracle::executor*>{&inner, &inner, &inner, &outer});
}

TEST_CASE("run_loop: a coroutine may run the next ones of its own loop") {
  run_loop loop;
  std::vector<int> log;
  const auto run_others = [&]() -> detached {
    co_await loop.schedule();
    log.push_back(1);
    CHECK(loop.run_one());
    log.push_back(3);
  };
  run_others();
  log_on(loop, log, 2);
  log_on(loop, log, 4);
  CHECK(loop.run_one());
  CHECK(log == std::vector{1, 2, 3});
  CHECK(loop.run_one());
  CHECK(log == std::vector{1, 2, 3, 4});
}

TEST_CASE("run_loop: run() returns at once if it was stopped before, and runs what is queued first") {
  run_loop loop;
  std::vector<int> log;
  log_on(loop, log, 1);
  log_on(loop, log, 2);
  loop.stop();
  loop.run();
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("run_loop: after stop() run() still runs what the last coroutines post") {
  run_loop loop;
  std::vector<int> log;
  const auto stop_and_go_on = [&]() -> detached {
    co_await loop.schedule();
    loop.stop();
    co_await loop.schedule();
    log.push_back(1);
    co_await loop.schedule();
    log.push_back(2);
  };
  stop_and_go_on();
  loop.run();
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("run_loop: a stop() ends one run(), the next one waits again") {
  run_loop loop;
  std::binary_semaphore running{0};
  bool ran = false;
  loop.stop();
  loop.run();
  const auto announce = [&]() -> detached {
    co_await loop.schedule();
    running.release();
  };
  const auto stop = [&]() -> detached {
    co_await loop.schedule();
    ran = true;
    loop.stop();
  };
  announce();
  std::thread poster([&] {
    running.acquire();  // run() has nothing left to do now but to wait
    stop();
  });
  loop.run();
  poster.join();
  CHECK(ran);
}

TEST_CASE("run_loop: each post from another thread wakes run(), on run()'s thread") {
  run_loop loop;
  std::binary_semaphore answered{0};
  int answers = 0, on_this_thread = 0;
  const auto here = std::this_thread::get_id();
  const auto answer = [&]() -> detached {
    co_await loop.schedule();
    ++answers;
    if (std::this_thread::get_id() == here) ++on_this_thread;
    answered.release();
  };
  std::thread poster([&] {
    for (int i = 0; i != 1000; ++i) {
      answer();
      answered.acquire();  // the loop is about to sleep when the next post comes
    }
    loop.stop();
  });
  loop.run();
  poster.join();
  CHECK(answers == 1000);
  CHECK(on_this_thread == 1000);
}

TEST_CASE("run_loop: stop() from another thread ends a run() that has nothing to do") {
  for (int i = 0; i != 100; ++i) {
    run_loop loop;
    std::thread stopper([&] { loop.stop(); });
    loop.run();
    stopper.join();
    CHECK_FALSE(loop.run_one());
  }
}

TEST_CASE("run_loop: an exception that leaves a coroutine's promise loses none of the others") {
  run_loop loop;
  std::vector<int> log;
  const auto fail = [&]() -> coracle_test::test_coroutine {
    co_await loop.schedule();
    throw std::runtime_error("out of the loop");
  };
  auto first = fail(), second = fail();
  const auto queue_four = [&](coracle_test::test_coroutine& failing) {
    log.clear();
    log_on(loop, log, 1);
    failing.resume();
    log_on(loop, log, 2);
    log_on(loop, log, 3);
  };
  queue_four(first);
  CHECK_THROWS_AS(loop.run_pending(), std::runtime_error);
  CHECK(coracle::current_executor() == nullptr);
  CHECK(log == std::vector{1});
  log_on(loop, log, 4);
  CHECK(loop.run_pending() == 3);
  CHECK(log == std::vector{1, 2, 3, 4});

  queue_four(second);
  loop.stop();
  CHECK_THROWS_AS(loop.run(), std::runtime_error);
  CHECK(coracle::current_executor() == nullptr);
  loop.run();
  CHECK(log == std::vector{1, 2, 3});
}

TEST_CASE("run_loop: destroyed with a coroutine in its queue ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          run_loop loop;
          std::vector<int> log;
          log_on(loop, log, 1);
        }) == "coracle: a run_loop was destroyed with coroutines in its queue: join them first\n");
}

TEST_CASE("run_loop: scheduling and running allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  run_loop loop;
  int hops = 0;
  const auto hop = [&]() -> detached {
    for (; hops != 10; ++hops) co_await loop.schedule();
    loop.stop();
  };
  hop();
  const auto before = coracle::testing::allocations();
  CHECK(loop.run_one());
  loop.run_pending();
  loop.run();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
  CHECK(hops == 10);
}

// The static guarantees of the header.
static_assert(coracle::scheduler<run_loop>);
static_assert(std::is_nothrow_default_constructible_v<run_loop>);
static_assert(!std::is_copy_constructible_v<run_loop> && !std::is_move_constructible_v<run_loop>);
static_assert(noexcept(std::declval<run_loop&>().schedule()) && noexcept(std::declval<run_loop&>().stop()) &&
              noexcept(std::declval<run_loop&>().post(std::declval<coracle::resumption&>())));
}  // namespace
