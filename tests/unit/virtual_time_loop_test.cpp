// tests/unit/virtual_time_loop_test.cpp -- a clock that jumps: when, how far, and what runs at each time.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/sleep.hpp>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::sleep_for;
using coracle::task;
using coracle::testing::virtual_time_loop;
using coracle_test::detached;

TEST_CASE(
    "virtual_time_loop: run() gives the result of what it awaits: a value, a reference, none, a move-only") {
  virtual_time_loop loop;
  int number = 1;
  const auto value = []() -> task<int> {
    co_await sleep_for(1s);
    co_return 42;
  };
  const auto reference = [&]() -> task<int&> {
    co_await sleep_for(1s);
    co_return number;
  };
  const auto pointer = []() -> task<std::unique_ptr<int>> {
    co_await sleep_for(1s);
    co_return std::make_unique<int>(7);
  };
  CHECK(loop.run(value()) == 42);
  CHECK(&loop.run(reference()) == &number);
  CHECK(*loop.run(pointer()) == 7);
  CHECK(loop.now() == virtual_time_loop::start + 3s);
}

TEST_CASE("virtual_time_loop: run() of what need not wait moves no clock") {
  virtual_time_loop loop;
  coracle::async_manual_reset_event set{true};
  const auto at_once = [&]() -> task<bool> { co_return coracle::current_executor() == &loop; };
  loop.run(set);
  CHECK(loop.run(at_once()));
  CHECK(loop.now() == virtual_time_loop::start);
  CHECK(coracle::current_executor() == nullptr);
}

TEST_CASE("virtual_time_loop: run() throws what the awaitable throws") {
  virtual_time_loop loop;
  const auto fail = []() -> task<> {
    co_await sleep_for(1s);
    throw std::runtime_error("late");
  };
  CHECK_THROWS_WITH_AS(loop.run(fail()), "late", std::runtime_error);
}

TEST_CASE("virtual_time_loop: the clock stands still while anything can run") {
  virtual_time_loop loop;
  std::vector<long long> seconds;
  const auto note = [&] {
    seconds.push_back(
        std::chrono::duration_cast<std::chrono::seconds>(loop.now() - virtual_time_loop::start).count());
  };
  const auto sleep = [&](std::chrono::seconds delay) -> task<> {
    co_await sleep_for(delay);
    note();
  };
  const auto busy = [&]() -> task<> {
    for (int i = 0; i != 1000; ++i) co_await loop.schedule();
    note();
  };
  loop.run(coracle::when_all(sleep(2s), sleep(1s), busy()));
  CHECK(seconds == std::vector<long long>{0, 1, 2});
}

TEST_CASE("virtual_time_loop: a day of ten thousand sleepers goes the same way every time") {
  const auto day = [] {
    virtual_time_loop loop;
    std::vector<int> log;
    const auto sleep = [&](int name) -> task<> {
      unsigned state = static_cast<unsigned>(name) + 1;
      for (int i = 0; i != 3; ++i) {
        state = state * 1664525 + 1013904223;
        co_await sleep_for(std::chrono::milliseconds(state % 28'800'000));
        log.push_back(name);
      }
    };
    std::vector<task<>> all;
    for (int name = 0; name != 10'000; ++name) all.push_back(sleep(name));
    loop.run(coracle::when_all(std::move(all)));
    return log;
  };
  const std::vector<int> first = day();
  CHECK(first.size() == 30'000);
  CHECK(first == day());
}

TEST_CASE("virtual_time_loop: run() ends with what it awaits; the rest goes on with the next run()") {
  virtual_time_loop loop;
  int ended = 0;
  const auto sleep = [&](std::chrono::seconds delay) -> detached {
    co_await loop.schedule();
    co_await sleep_for(delay);
    ++ended;
  };
  sleep(1s);
  sleep(3s);
  loop.run(sleep_for(2s));
  CHECK(ended == 1);
  CHECK(loop.now() == virtual_time_loop::start + 2s);
  loop.run(sleep_for(2s));
  CHECK(ended == 2);
}

TEST_CASE("virtual_time_loop: run_pending() runs what is queued and what that queues, and moves no clock") {
  virtual_time_loop loop;
  int steps = 0;
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    ++steps;
    co_await loop.schedule();
    ++steps;
    co_await sleep_for(1s);
    ++steps;
  };
  CHECK(loop.run_pending() == 0);
  work();
  CHECK(steps == 0);
  CHECK(loop.run_pending() == 2);
  CHECK(steps == 2);
  CHECK(loop.now() == virtual_time_loop::start);
  loop.advance(1s);
  CHECK(steps == 3);
}

TEST_CASE("virtual_time_loop: advance() stops at each timer on the way, and at the end of the step") {
  virtual_time_loop loop;
  std::vector<long long> at;
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    for (int i = 0; i != 4; ++i) {
      co_await sleep_for(10ms);
      at.push_back((loop.now() - virtual_time_loop::start) / 1ms);
    }
  };
  work();
  loop.advance(9ms);
  CHECK(at.empty());
  loop.advance(1ms);
  CHECK(at == std::vector<long long>{10});
  loop.advance(25ms);
  CHECK(at == std::vector<long long>{10, 20, 30});
  CHECK(loop.now() == virtual_time_loop::start + 35ms);
  loop.advance(0s);
  loop.advance(-1s);
  CHECK(loop.now() == virtual_time_loop::start + 35ms);
  loop.advance(1h);
  CHECK(at.size() == 4);
}

TEST_CASE("virtual_time_loop: schedule() from inside goes behind what is queued") {
  virtual_time_loop loop;
  std::vector<int> log;
  const auto work = [&](int name) -> detached {
    co_await loop.schedule();
    log.push_back(name);
    co_await loop.schedule();
    log.push_back(name + 10);
  };
  work(1);
  work(2);
  loop.run_pending();
  CHECK(log == std::vector{1, 2, 11, 12});
}

TEST_CASE("virtual_time_loop: waiting for what never comes ends the program and says so") {
  const char* const message =
      "coracle: deadlock in virtual_time_loop::run(): nothing is runnable and no timer is armed\n";
  CHECK(coracle_test::abort_message([] {
          virtual_time_loop loop;
          coracle::async_manual_reset_event never;
          loop.run(never);
        }).starts_with(message));
  CHECK(coracle_test::abort_message([] {
          virtual_time_loop loop;
          loop.run(sleep_for(std::chrono::hours::max()));
        }).starts_with(message));
}

TEST_CASE("virtual_time_loop: use from another thread ends the program and says so" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  // Not under ThreadSanitizer, which cannot start threads in the child of a process with threads.
  CHECK(coracle_test::abort_message([] {
          virtual_time_loop loop;
          const auto go = [&]() -> detached { co_await loop.schedule(); };
          std::thread([&] { go(); }).join();
        }) == "coracle: a virtual_time_loop was used by a thread other than its own\n");
}

TEST_CASE("virtual_time_loop: its end with work left ends the program and says so") {
  const char* const left =
      "coracle: a virtual_time_loop was destroyed with coroutines in its queue or timers armed: join its "
      "coroutines first\n";
  CHECK(coracle_test::abort_message([] {
          virtual_time_loop loop;
          const auto go = [&]() -> detached { co_await loop.schedule(); };
          go();
        }) == left);
  CHECK(coracle_test::abort_message([] {
          virtual_time_loop loop;
          const auto go = [&]() -> detached {
            co_await loop.schedule();
            co_await sleep_for(1s);
          };
          go();
          loop.run_pending();
        }) == left);
}

TEST_CASE("virtual_time_loop: running allocates nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  virtual_time_loop loop;
  loop.run(sleep_for(1ms));
  const auto before = coracle::testing::allocations();
  loop.run(sleep_for(1ms));
  loop.advance(1ms);
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
}

static_assert(coracle::scheduler<virtual_time_loop>);
static_assert(!std::is_copy_constructible_v<virtual_time_loop> &&
              !std::is_move_constructible_v<virtual_time_loop>);
}  // namespace
