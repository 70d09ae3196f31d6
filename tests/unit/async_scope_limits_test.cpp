// tests/unit/async_scope_limits_test.cpp -- many children, deep nesting, allocation failures, and misuse.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/many.hpp"
#include "../support/run_on_stack.hpp"
#include "async_scope_children.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::async_scope;
using coracle::current_executor;
using coracle::operation_cancelled;
using coracle::run_loop;
using coracle::scope_policy;
using coracle::sync_wait;
using coracle::task;
using coracle_test::count_one;
using coracle_test::detached;
using coracle_test::fail_at_once;
using coracle_test::join;
using coracle_test::join_and_tell;
using coracle_test::many;
using coracle_test::wait_and_count;

task<> spawn_next(async_scope& scope, int left, int& started) {
  ++started;
  if (left != 0) scope.spawn(spawn_next(scope, left - 1, started));
  co_return;
}
TEST_CASE(
    "async_scope: a child that spawns a child, 100,000 deep, fits a small stack and starts all at once") {
  int started = 0, started_before_return = 0;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&] {
    async_scope scope;
    scope.spawn(spawn_next(scope, many(100'000), started));
    started_before_return = started;
    sync_wait(join(scope));
  });
  CHECK(ran);
  CHECK(started_before_return == many(100'000) + 1);
}

TEST_CASE("async_scope: children nested too deep start on the executor of their spawner all the same") {
  run_loop loop;
  int elsewhere = 0, started = 0;
  async_scope scope;
  const auto nest = [&](const auto& self, int left) -> task<> {
    ++started;
    elsewhere += current_executor() != &loop;
    if (left != 0) scope.spawn(self(self, left - 1));
    co_return;
  };
  const auto root = [&]() -> detached {
    co_await loop.schedule();
    scope.spawn(nest(nest, 200));
    co_await scope.join();
  };
  root();
  CHECK(loop.run_one());
  CHECK(started == 201);
  CHECK(elsewhere == 0);
}

TEST_CASE("async_scope: a million children that wait at the same time, and as many that end at once") {
  constexpr int width = many(1'000'000);
  async_manual_reset_event event;
  int count = 0, quick = 0;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&] {
    async_scope scope;
    for (int i = 0; i != width; ++i) {
      scope.spawn(wait_and_count(event, count));
      scope.spawn(count_one(quick));
    }
    CHECK(count == 0);
    event.set();
    sync_wait(join(scope));
  });
  CHECK(ran);
  CHECK(count == width);
  CHECK(quick == width);
}

task<> nest_scopes(int depth, async_manual_reset_event& event) {
  if (depth == 0) {
    co_await event;
  } else {
    async_scope scope;
    scope.spawn(nest_scopes(depth - 1, event));
    co_await scope.join();
  }
}

TEST_CASE(
    "async_scope: 100,000 scopes inside one another fit a small stack: woken, or stopped from the top") {
  async_manual_reset_event event, never;
  bool ended = false, cancelled = false;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&] {
    const auto root = [&]() -> detached {
      co_await nest_scopes(many(100'000), event);
      ended = true;
    };
    root();
    event.set();
    coracle::stop_source source;
    const auto stop = [&]() -> detached {
      try {
        co_await coracle::with_stop(nest_scopes(10'000, never), source.get_token());
      } catch (const operation_cancelled&) {
        cancelled = true;
      }
    };
    stop();
    source.request_stop();
  });
  CHECK(ran);
  CHECK(ended);
  CHECK(cancelled);
}

TEST_CASE("async_scope: spawn() allocates one frame for a child, beside the child's own, and join() nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_manual_reset_event event;
  async_scope scope;
  int count = 0;
  bool joined = false;
  const coracle::stop_token made =
      scope.get_token();  // the stop source, which the first that waits would make
  coracle::trim_frame_memory();
  const auto first = coracle::testing::allocations();
  auto child = wait_and_count(event, count);
  const auto before = coracle::testing::allocations();
  scope.spawn(std::move(child));
  const auto after = coracle::testing::allocations();
  const auto wait = [&]() -> detached {
    const auto before_join = coracle::testing::allocations();
    co_await scope.join();
    joined = coracle::testing::allocations() == before_join;
  };
  wait();
  event.set();
  CHECK(before - first == 1);
  CHECK(after - before == 1);
  CHECK(joined);
}

TEST_CASE("async_scope: spawn() on a scheduler allocates no more than spawn() here" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  coracle::run_loop loop;
  async_scope scope;
  int count = 0;
  auto child = count_one(count);
  coracle::trim_frame_memory();
  const auto before = coracle::testing::allocations();
  scope.spawn(loop, std::move(child));
  const auto after = coracle::testing::allocations();
  const bool started = count != 0;
  loop.run_one();
  auto by_hand = scope.join();
  by_hand.await_suspend(std::coroutine_handle<>(std::noop_coroutine()));
  CHECK(after - before == 1);
  CHECK(!started);
  CHECK(count == 1);
}

TEST_CASE("async_scope: where memory runs out spawn() throws, and the scope stays as it was" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const int failed = coracle::testing::fail_each_allocation([] {
    int ended = 0, refused = 0;
    std::optional<async_scope> scope;
    try {
      scope.emplace();
      scope->spawn(count_one(ended));
    } catch (const std::bad_alloc&) {
      ++refused;
    }
    if (!scope) return;
    bool joined = false;
    try {
      join_and_tell(*scope, joined);
    } catch (const std::bad_alloc&) {
      ++refused;
      auto by_hand = scope->join();
      joined = !by_hand.await_suspend(std::coroutine_handle<>(std::noop_coroutine()));
    }
    CHECK(joined);
    CHECK(ended + refused >= 1);
  });
  CHECK(failed >= 3);
}

/// A scheduler whose schedule() is a coroutine, and so needs a frame.
struct loop_behind_task {
  run_loop& loop;
  task<> schedule() const { co_await loop.schedule(); }
};
TEST_CASE(
    "async_scope: where memory runs out on the way to a scheduler nothing is started, and the scope or "
    "spawn() tells" *
    doctest::skip(!coracle::testing::allocations_are_counted)) {
  int silent = 0;
  const int failed = coracle::testing::fail_each_allocation([&] {
    run_loop loop;
    int ended = 0, refused = 0;
    async_scope scope;
    try {
      scope.spawn(loop_behind_task{loop}, count_one(ended));
      while (loop.run_one()) {
      }
    } catch (const std::bad_alloc&) {
      ++refused;
    }
    auto by_hand = scope.join();
    by_hand.await_suspend(std::coroutine_handle<>(std::noop_coroutine()));
    try {
      by_hand.await_resume();
    } catch (const std::bad_alloc&) {
      ++refused;
    }
    silent += ended + refused != 1;
  });
  CHECK(failed >= 2);
  CHECK(silent == 0);
}

TEST_CASE("async_scope: join() tells of a child that is an event, and found no memory to be stopped by" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int silent = 0;
  const int failed = coracle::testing::fail_each_allocation([&] {
    coracle::async_manual_reset_event event;
    async_scope scope;
    bool waits = false, refused = false;
    try {
      scope.spawn(event.operator co_await());
      waits = !coracle::stop_token{scope.get_token()}.stop_requested();
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    event.set();
    auto by_hand = scope.join();
    by_hand.await_suspend(std::coroutine_handle<>(std::noop_coroutine()));
    try {
      by_hand.await_resume();
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    silent += !waits && !refused;
  });
  CHECK(failed == 2);
  CHECK(silent == 0);
}

TEST_CASE("async_scope: one that stops no children survives an allocation that fails" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int most = 0;
  const int failed = coracle::testing::fail_each_allocation([&] {
    int errors = 0, count = 0;
    const auto fails = [&](auto body) {
      try {
        body();
      } catch (const std::bad_alloc&) {
        ++errors;
      }
    };
    fails([&] {
      async_manual_reset_event event;
      async_scope scope{scope_policy::supervise([&](const std::exception_ptr&) { ++errors; })};
      for (int i = 0; i != 3; ++i) fails([&] { scope.spawn(wait_and_count(event, count)); });
      event.set();
      auto by_hand = scope.join();
      by_hand.await_suspend(std::coroutine_handle<>(std::noop_coroutine()));
      by_hand.await_resume();
      CHECK(count + errors == 3);
    });
    most = std::max(most, errors);
  });
  CHECK(failed >= 7);
  CHECK(most == 1);
}

TEST_CASE("async_scope: one that fails fast fails where the stop source of its children cannot be allocated" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int scopes_that_failed = 0;
  coracle::testing::fail_each_allocation([&] {
    async_manual_reset_event event;
    async_scope scope;
    int refused = 0, count = 0;
    bool has_failed = false;
    for (int i = 0; i != 3; ++i) {
      try {
        scope.spawn(wait_and_count(event, count));
      } catch (const std::bad_alloc&) {
        ++refused;
      }
    }
    event.set();
    auto by_hand = scope.join();
    by_hand.await_suspend(std::coroutine_handle<>(std::noop_coroutine()));
    try {
      by_hand.await_resume();
    } catch (const std::bad_alloc&) {
      has_failed = true;
      ++scopes_that_failed;
    }
    CHECK(count + refused == (has_failed ? refused : 3));
  });
  CHECK(scopes_that_failed == 1);
}

TEST_CASE("async_scope: where there is no memory to put errors together join() throws the first" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_scope scope{scope_policy::collect_all()};
  scope.spawn(fail_at_once("first"));
  scope.spawn(fail_at_once("second"));
  std::string caught;
  const auto wait = [&]() -> detached {
    auto all = scope.join();
    try {
      const coracle::testing::failing_allocation failing(1);
      co_await all;
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  };
  wait();
  CHECK(caught == "first");
}

TEST_CASE("async_scope: destroyed while children run it names them, in every build") {
  constexpr int first_line = __LINE__ + 5;
  const std::string message = coracle_test::abort_message([] {
    async_manual_reset_event event;
    int count = 0;
    async_scope scope;
    scope.spawn(wait_and_count(event, count));
    for (int i = 0; i != 8; ++i) scope.spawn(wait_and_count(event, count));
    scope.spawn(count_one(count));
  });
  CHECK(message.find("coracle: an async_scope was destroyed while 9 of its children run: co_await its join() "
                     "on every way out of the scope, also where an exception leaves it, or use with_scope(). "
                     "Spawned at:\n") == 0);
  CHECK(std::count(message.begin(), message.end(), '\n') == 9);
  for (const int line : {first_line, first_line + 1})
    CHECK(message.find("async_scope_limits_test.cpp:" + std::to_string(line) + " in ") != std::string::npos);
  CHECK(coracle_test::abort_message([] {
          async_manual_reset_event event;
          int count = 0;
          async_scope scope;
          scope.spawn(wait_and_count(event, count));
          bool joined = false;
          join_and_tell(scope, joined);
        }).find("while 1 of its children run") != std::string::npos);
}

TEST_CASE(
    "async_scope: where nothing was spawned it needs no join(), so that an exception leaves a function") {
  const auto open_and_spawn = []() -> task<> {
    async_scope scope;
    co_await fail_at_once("refused");
    scope.spawn(fail_at_once("never"));
    co_await scope.join();
  };
  CHECK_THROWS_WITH(sync_wait(open_and_spawn()), "refused");
}

TEST_CASE("async_scope: destroyed with an error in it ends the program, in every build") {
  CHECK(coracle_test::abort_message([] {
          async_scope scope;
          scope.spawn(fail_at_once("lost"));
        }) == "coracle: an async_scope was destroyed with an exception in it: co_await its join()\n");
}

TEST_CASE("async_scope: what breaks its rules ends the program and says what to do") {
  CHECK(coracle_test::abort_message([] {
          async_scope scope;
          scope.spawn([]() -> task<> { co_return; });
        }) ==
        "coracle: an async_scope was destroyed without join(): co_await it on every way out of the scope, "
        "also where an exception leaves it, or use with_scope()\n");
  CHECK(coracle_test::abort_message([] {
          async_scope scope;
          sync_wait(join(scope));
          sync_wait(join(scope));
        }) == "coracle: join() of an async_scope was awaited twice: await it once\n");
  CHECK(coracle_test::abort_message([] {
          async_scope scope;
          scope.request_stop(coracle::stop_reason::none);
          sync_wait(join(scope));
        }) == "coracle: a stop was requested with stop_reason::none: give the reason\n");
  if constexpr (!CORACLE_CHECKS()) return;
  CHECK(
      coracle_test::abort_message([] {
        async_scope scope;
        int count = 0;
        sync_wait(join(scope));
        scope.spawn(count_one(count));
      }) ==
      "coracle: spawn() into an async_scope that has been joined: spawn before that, or from its children\n");
}
}  // namespace
