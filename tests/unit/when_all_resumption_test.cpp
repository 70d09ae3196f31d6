// tests/unit/when_all_resumption_test.cpp -- where the awaiting coroutine resumes, and how deep the stack is.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/many.hpp"
#include "../support/run_on_stack.hpp"
#include "child_tasks.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::task;
using coracle_test::after;
using coracle_test::detached;
using coracle_test::give;
using coracle_test::nothing;

task<int> nest(int depth, async_manual_reset_event* bottom) {
  if (depth == 0) {
    if (bottom) co_await *bottom;
    co_return 1;
  }
  const auto [below, one] = co_await coracle::when_all(nest(depth - 1, bottom), give(1));
  co_return below + one;
}

TEST_CASE("when_all: 100,000 inside one another fit a small stack: ending at once, woken, or stopped") {
  constexpr int depth = coracle_test::many(100'000);
  int sum = 0, woken = 0;
  bool cancelled = false;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&] {
    sum = coracle::sync_wait(nest(depth, nullptr));
    async_manual_reset_event event, never;
    const auto wake = [&]() -> detached { woken = co_await nest(depth, &event); };
    wake();
    event.set();
    coracle::stop_source source;
    const auto stop = [&]() -> detached {
      try {
        co_await coracle::with_stop(nest(10'000, &never), source.get_token());
      } catch (const coracle::operation_cancelled&) {
        cancelled = true;
      }
    };
    stop();
    source.request_stop();
  });
  CHECK(ran);
  CHECK(sum == depth + 1);
  CHECK(woken == depth + 1);
  CHECK(cancelled);
}

TEST_CASE("when_all: what is started too deep starts before a sync_wait inside it blocks") {
  int ended = 0;
  const auto deep = [&](const auto& self, int depth) -> task<> {
    if (depth == 0) {
      coracle::sync_wait(coracle::when_all(nothing(), nothing()));
    } else {
      co_await coracle::when_all(self(self, depth - 1), nothing());
    }
    ++ended;
  };
  coracle::sync_wait(deep(deep, 40));
  CHECK(ended == 41);
}

TEST_CASE("when_all: children that end on the awaiter's own loop continue it without another post") {
  coracle::run_loop loop;
  async_manual_reset_event event;
  const coracle::executor* resumed_on = nullptr;
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    co_await coracle::when_all(after(event, 1), after(event, 2));
    resumed_on = coracle::current_executor();
  };
  work();
  CHECK(loop.run_one());
  event.set();
  CHECK(loop.run_one());
  CHECK(resumed_on == nullptr);
  CHECK(loop.run_one());
  CHECK(resumed_on == &loop);
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("when_all: a child that ends on another loop posts the awaiter to its own") {
  coracle::run_loop home, abroad;
  const coracle::executor* resumed_on = nullptr;
  const auto work = [&]() -> detached {
    co_await home.schedule();
    co_await coracle::when_all(abroad.schedule(), nothing());
    resumed_on = coracle::current_executor();
  };
  work();
  CHECK(home.run_one());
  CHECK(abroad.run_one());
  CHECK(resumed_on == nullptr);
  CHECK_FALSE(abroad.run_one());
  CHECK(home.run_one());
  CHECK(resumed_on == &home);
}

TEST_CASE("when_all: a child that moves away and comes to its end at once leaves the awaiter where it was") {
  coracle::run_loop home, abroad;
  const coracle::executor* resumed_on = nullptr;
  const auto wander = [&]() -> task<> {
    co_await abroad.schedule();
    co_await home.schedule();
  };
  const auto work = [&]() -> detached {
    co_await home.schedule();
    co_await coracle::when_all(wander());
    resumed_on = coracle::current_executor();
  };
  work();
  CHECK(home.run_one());
  CHECK(abroad.run_one());
  CHECK(home.run_one());
  CHECK(resumed_on == &home);
}

TEST_CASE("when_all: outside any executor the awaiter goes on where the last child ended, outside") {
  coracle::run_loop loop;
  const coracle::executor* resumed_on = &loop;
  std::thread::id resumed_by;
  const auto work = [&]() -> detached {
    co_await coracle::when_all(loop.schedule(), nothing());
    resumed_on = coracle::current_executor();
    resumed_by = std::this_thread::get_id();
  };
  work();
  std::thread runner([&] { CHECK(loop.run_one()); });
  const std::thread::id runner_id = runner.get_id();
  runner.join();
  CHECK(resumed_on == nullptr);
  CHECK(resumed_by == runner_id);
}

/// An event of another library: resumes its waiters one after the other inside set().
struct foreign_event {
  std::vector<std::coroutine_handle<>> waiting;
  struct awaiter {
    explicit awaiter(foreign_event& its_event) noexcept : event(its_event) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> suspended) const { event.waiting.push_back(suspended); }
    void await_resume() const noexcept {}
    foreign_event& event;
  };
  awaiter operator co_await() noexcept { return awaiter{*this}; }
  void set() {
    for (const auto each : std::exchange(waiting, {})) each.resume();
  }
};

TEST_CASE("when_all: two of them that one foreign event ends, inside a coroutine of a loop, both continue") {
  coracle::run_loop loop;
  foreign_event event;
  int joined = 0;
  const auto join = [&]() -> detached {
    co_await loop.schedule();
    co_await coracle::when_all(event, nothing());
    ++joined;
  };
  const auto set = [&]() -> detached {
    while (event.waiting.size() != 2) co_await loop.schedule();  // they may give way before they wait
    event.set();
    co_await nothing();
  };
  join();
  join();
  set();
  while (loop.run_one()) {  // run_pending() leaves those that gave way
  }
  CHECK(joined == 2);
}
}  // namespace
