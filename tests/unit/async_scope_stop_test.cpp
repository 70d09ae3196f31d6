// tests/unit/async_scope_stop_test.cpp -- how children are stopped, and where they and the joiner run.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "async_scope_children.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::async_scope;
using coracle::current_executor;
using coracle::operation_cancelled;
using coracle::run_loop;
using coracle::scope_policy;
using coracle::stop_reason;
using coracle::sync_wait;
using coracle::task;
using coracle_test::count_one;
using coracle_test::detached;
using coracle_test::join;

task<> note_reason(async_manual_reset_event& event, stop_reason& seen) {
  try {
    co_await event;
  } catch (const operation_cancelled& cancelled) {
    seen = cancelled.reason();
    throw;
  }
}

TEST_CASE("async_scope: request_stop() stops the children; that they were cancelled is no error") {
  async_manual_reset_event never;
  stop_reason seen = stop_reason::none, later = stop_reason::none;
  async_scope scope;
  scope.spawn(note_reason(never, seen));
  scope.spawn(never.operator co_await());
  CHECK(scope.request_stop(stop_reason::shutting_down));
  CHECK_FALSE(scope.request_stop());
  CHECK(seen == stop_reason::shutting_down);
  scope.spawn(note_reason(never, later));
  CHECK(later == stop_reason::shutting_down);
  sync_wait(join(scope));
}

TEST_CASE("async_scope: children inherit the environment that the scope was given") {
  coracle::stop_source source;
  const coracle::task_local<int> number{0};
  coracle::environment around;
  around.stop = source.get_token();
  const int seven = 7;
  const coracle::detail::local_binding binding{&number, &seven, nullptr};
  around.locals = &binding;
  int inherited = 0;
  async_manual_reset_event never;
  stop_reason seen = stop_reason::none;
  async_scope scope{scope_policy::fail_fast(), around};
  const auto look = [&]() -> task<> { inherited = co_await number.value(); };
  scope.spawn(look());
  scope.spawn(note_reason(never, seen));
  CHECK(inherited == 7);
  source.request_stop(stop_reason::timed_out);
  CHECK(seen == stop_reason::timed_out);
  CHECK_THROWS_WITH_AS(sync_wait(join(scope)), "operation cancelled: its deadline has passed",
                       operation_cancelled);
}

TEST_CASE("async_scope: a stop request to the joiner stops the children, and join() waits for them") {
  run_loop loop;
  async_manual_reset_event never;
  coracle::stop_source source;
  stop_reason seen = stop_reason::none, thrown = stop_reason::none;
  const auto clean_up_slowly = [&]() -> task<> {
    try {
      co_await never;
    } catch (const operation_cancelled& cancelled) {
      seen = cancelled.reason();
    }
    co_await coracle::shielded(loop.schedule());
    throw operation_cancelled(seen);
  };
  for (const bool before : {false, true}) {
    source = coracle::stop_source{};
    seen = thrown = stop_reason::none;
    async_scope scope;
    scope.spawn(clean_up_slowly());
    if (before) source.request_stop(stop_reason::shutting_down);
    const auto root = [&]() -> detached {
      try {
        co_await coracle::with_stop(join(scope), source.get_token());
      } catch (const operation_cancelled& cancelled) {
        thrown = cancelled.reason();
      }
    };
    root();
    source.request_stop(stop_reason::shutting_down);
    CHECK(seen == stop_reason::shutting_down);
    CHECK(thrown == stop_reason::none);
    loop.run_pending();
    CHECK(thrown == stop_reason::shutting_down);
  }
}

TEST_CASE(
    "async_scope: a stop request to the joiner has no effect if all children give a value all the same") {
  coracle::stop_source source;
  async_manual_reset_event never;
  bool joined = false;
  async_scope scope;
  const auto give_when_stopped = [&]() -> task<> {
    try {
      co_await never;
    } catch (const operation_cancelled&) {
    }
  };
  scope.spawn(give_when_stopped());
  const auto root = [&]() -> detached {
    co_await coracle::with_stop(join(scope), source.get_token());
    joined = true;
  };
  root();
  CHECK_FALSE(joined);
  source.request_stop();
  CHECK(joined);
}

TEST_CASE(
    "async_scope: a stop request to the joiner before join() cancels it, once the children are joined") {
  coracle::stop_source source;
  int count = 0;
  async_scope scope;
  scope.spawn(count_one(count));
  source.request_stop(stop_reason::timed_out);
  CHECK_THROWS_WITH_AS(sync_wait(coracle::with_stop(join(scope), source.get_token())),
                       "operation cancelled: its deadline has passed", operation_cancelled);
  CHECK(count == 1);
}

TEST_CASE("async_scope: spawn() on a scheduler runs the child there") {
  run_loop loop;
  const coracle::executor* ran_on = nullptr;
  async_scope scope;
  const auto look = [&]() -> task<> {
    ran_on = current_executor();
    co_return;
  };
  scope.spawn(loop, look());
  CHECK(ran_on == nullptr);
  CHECK(loop.run_one());
  CHECK(ran_on == &loop);
  sync_wait(join(scope));
}

TEST_CASE("async_scope: a child that is stopped on its way to a scheduler is not started, and is destroyed") {
  run_loop loop;
  coracle::testing::lifetimes log;
  log.destroyed.reserve(8);
  bool ran = false;
  async_scope scope;
  const auto work = [&](coracle::testing::lifetime_probe) -> task<> {
    ran = true;
    co_return;
  };
  scope.spawn(loop, work(coracle::testing::lifetime_probe{log}));
  scope.request_stop();
  const int alive_before = log.alive;
  CHECK(loop.run_one());
  CHECK(alive_before == 1);
  CHECK(log.alive == 0);
  CHECK(!ran);
  sync_wait(join(scope));
}

TEST_CASE("async_scope: a child spawned into a stopped scope is started, one on a scheduler is not") {
  run_loop loop;
  coracle::testing::lifetimes log;
  std::vector<int> ran;
  async_scope scope;
  const auto work = [&](coracle::testing::lifetime_probe mine) -> task<> {
    ran.push_back(mine.id());
    co_return;
  };
  scope.request_stop();
  scope.spawn(work(coracle::testing::lifetime_probe{log, 1}));
  scope.spawn(loop, work(coracle::testing::lifetime_probe{log, 2}));
  loop.run_pending();
  CHECK(ran == std::vector{1});
  CHECK(log.alive == 0);
  sync_wait(join(scope));
}

struct refusal {};
struct refusing_scheduler {
  int lived_with = 0;
  decltype(coracle::inline_scheduler{}.schedule()) schedule() {
    if (lived_with == 7) throw refusal{};
    return coracle::inline_scheduler{}.schedule();
  }
};
TEST_CASE("async_scope: what schedule() throws is the child's error, and the child is destroyed") {
  coracle::testing::lifetimes log;
  log.destroyed.reserve(8);
  bool ran = false;
  async_scope scope;
  const auto work = [&](coracle::testing::lifetime_probe) -> task<> {
    ran = true;
    co_return;
  };
  scope.spawn(refusing_scheduler{7}, work(coracle::testing::lifetime_probe{log}));
  CHECK(log.alive == 0);
  CHECK(!ran);
  CHECK_THROWS_AS(sync_wait(join(scope)), refusal);
}

TEST_CASE("async_scope: on a scheduler that goes nowhere a child runs before spawn() returns") {
  async_scope scope;
  int ran = 0;
  const auto work = [&](int number) -> task<> {
    ran = 10 * ran + number;
    co_return;
  };
  const auto spawns = [&]() -> task<> {
    scope.spawn(coracle::inline_scheduler{}, work(1));
    ran = 10 * ran + 2;
    co_return;
  };
  sync_wait(spawns());
  CHECK(ran == 12);
  sync_wait(join(scope));
}

TEST_CASE("async_scope: the joiner resumes on its executor, once, however the last child ended") {
  run_loop home, abroad;
  async_scope scope;
  const coracle::executor* ran_on = nullptr;
  const auto hop = [&]() -> task<> { co_await abroad.schedule(); };
  const auto wait = [&]() -> detached {
    co_await home.schedule();
    co_await scope.join();
    ran_on = current_executor();
  };
  scope.spawn(hop());
  wait();
  CHECK(home.run_one());
  CHECK(abroad.run_one());
  CHECK(ran_on == nullptr);
  CHECK(home.run_one());
  CHECK(ran_on == &home);
}

TEST_CASE("async_scope: where the last child ends on the joiner's executor there is no post in between") {
  run_loop home;
  async_scope scope;
  bool joined = false;
  const auto hop = [&]() -> task<> { co_await home.schedule(); };
  const auto wait = [&]() -> detached {
    co_await home.schedule();
    co_await scope.join();
    joined = true;
  };
  wait();
  scope.spawn(hop());
  CHECK(home.run_one());
  CHECK_FALSE(joined);
  CHECK(home.run_one());
  CHECK(joined);
  CHECK_FALSE(home.run_one());
}

TEST_CASE("async_scope: a joiner outside any executor runs on the thread on which the last child ended") {
  coracle::static_thread_pool pool{1};
  async_scope scope;
  std::thread::id child_on, joiner_on;
  const auto hop = [&]() -> task<> {
    co_await pool.schedule();
    child_on = std::this_thread::get_id();
  };
  const auto wait = [&]() -> task<> {
    scope.spawn(hop());
    co_await scope.join();
    joiner_on = std::this_thread::get_id();
  };
  sync_wait(wait());
  CHECK(child_on != std::this_thread::get_id());
  CHECK((joiner_on == child_on || joiner_on == std::this_thread::get_id()));
}

/// Suspends a child until the test resumes it; only the scope then synchronises the two threads.
struct park {
  explicit park(std::coroutine_handle<>& place) noexcept : place_(place) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const noexcept { place_ = h; }
  void await_resume() const noexcept {}
  std::coroutine_handle<>& place_;
};

TEST_CASE(
    "async_scope: what a child wrote on another thread is seen after join(), whichever of them was last") {
  for (const bool child_is_last : {false, true}) {
    std::coroutine_handle<> parked;
    std::atomic<bool> turn{false};  // relaxed: orders nothing
    int written = 0, seen = 0;
    async_scope scope;
    const auto write = [&]() -> task<> {
      co_await park(parked);
      written = 1;
    };
    const auto wait = [&]() -> detached {
      co_await scope.join();
      seen = written;
    };
    scope.spawn(write());
    std::thread other([&] {
      while (child_is_last && !turn.load(std::memory_order_relaxed)) std::this_thread::yield();
      coracle::resume(parked);
      turn.store(true, std::memory_order_relaxed);
    });
    while (!child_is_last && !turn.load(std::memory_order_relaxed)) std::this_thread::yield();
    wait();
    turn.store(true, std::memory_order_relaxed);
    other.join();
    CHECK(seen == 1);
  }
}

TEST_CASE(
    "async_scope: a child starts on the spawner's executor; a scope that was given nothing passes on "
    "nothing") {
  run_loop loop;
  const coracle::stop_source stop;
  const coracle::task_local<int> number{0};
  async_scope scope;
  const coracle::executor* ran_on = nullptr;
  int inherited = 1;
  const auto look = [&]() -> task<> {
    ran_on = current_executor();
    inherited = co_await number.value();
  };
  const auto spawner = [&]() -> task<> {
    co_await loop.schedule();
    scope.spawn(look());
    co_await scope.join();
  };
  const auto root = [&]() -> detached { co_await coracle::with_value(spawner(), number, 7); };
  root();
  CHECK(loop.run_one());
  CHECK(ran_on == &loop);
  CHECK(inherited == 0);
}
}  // namespace
