// tests/unit/scope_future_test.cpp -- results of children of a scope.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/faster_thread.hpp"
#include "async_scope_children.hpp"
#include "child_tasks.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::async_scope;
using coracle::operation_cancelled;
using coracle::scope_future;
using coracle::scope_policy;
using coracle::stop_reason;
using coracle::sync_wait;
using coracle::task;
using coracle_test::after;
using coracle_test::detached;
using coracle_test::fail;
using coracle_test::fail_after;
using coracle_test::join;

template <class T>
task<T> take(scope_future<T> future) {
  co_return co_await std::move(future);
}

TEST_CASE("scope_future: gives the result of a child that has ended, or ends later") {
  async_manual_reset_event event;
  async_scope scope;
  auto now = scope.spawn_future([]() -> task<int> { co_return 1; }());
  auto later = scope.spawn_future(after(event, 2));
  CHECK(now.is_ready());
  CHECK_FALSE(later.is_ready());
  int sum = 0;
  const auto work = [&]() -> detached {
    sum += co_await std::move(now);
    sum += co_await std::move(later);
  };
  work();
  CHECK(sum == 1);
  event.set();
  CHECK(sum == 3);
  sync_wait(join(scope));
}

TEST_CASE("scope_future: of nothing, of a reference and of what can only be moved; it outlives the scope") {
  std::string text = "text";
  std::optional<scope_future<std::unique_ptr<int>>> owner;
  std::optional<scope_future<std::string&>> reference;
  std::optional<scope_future<void>> none;
  {
    async_scope scope;
    owner = scope.spawn_future([]() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); }());
    const auto refer = [&]() -> task<std::string&> { co_return text; };
    reference = scope.spawn_future(refer());
    none = scope.spawn_future([]() -> task<> { co_return; }());
    sync_wait(join(scope));
  }
  CHECK(*sync_wait(take(std::move(*owner))) == 3);
  CHECK(&sync_wait(take(std::move(*reference))) == &text);
  sync_wait(take(std::move(*none)));
}

TEST_CASE("scope_future: who awaits an error has it: siblings go on, and join() does not throw it") {
  async_manual_reset_event event, go;
  async_scope scope;
  int value = 0;
  const auto sibling = [&]() -> task<> { value = co_await after(event, 5); };
  scope.spawn(sibling());
  std::string caught;
  const auto watch = [&]() -> task<> {
    auto future = scope.spawn_future(fail_after(go, "awaited"));
    try {
      co_await std::move(future);
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  };
  scope.spawn(watch());
  go.set();
  CHECK(caught == "awaited");
  event.set();
  CHECK(value == 5);
  sync_wait(join(scope));
}

TEST_CASE(
    "scope_future: an error of a dropped one is the scope's, dropped before the child's end or after it") {
  for (const bool before : {true, false}) {
    async_manual_reset_event go, never;
    stop_reason sibling = stop_reason::none;
    async_scope scope;
    const auto wait = [&]() -> task<> {
      try {
        co_await coracle::throwing(never);
      } catch (const operation_cancelled& cancelled) {
        sibling = cancelled.reason();
      }
    };
    scope.spawn(wait());
    {
      auto future = scope.spawn_future(fail_after(go, "dropped"));
      if (!before) go.set();
      CHECK(sibling == stop_reason::none);
    }
    go.set();
    CHECK(sibling == stop_reason::sibling_failed);
    CHECK_THROWS_WITH_AS(sync_wait(join(scope)), "dropped", std::runtime_error);
  }
}

TEST_CASE("scope_future: under supervision the error of a dropped one goes to the handler") {
  int errors = 0;
  async_scope scope{scope_policy::supervise([&](const std::exception_ptr&) { ++errors; })};
  {
    const auto future = scope.spawn_future(fail("dropped"));
    CHECK(errors == 0);
  }
  CHECK(errors == 1);
  sync_wait(join(scope));
}

TEST_CASE("scope_future: an error that nobody has awaited is thrown by join(), and not again by the future") {
  std::vector<scope_future<int>> futures;
  {
    async_scope scope;
    futures.push_back(scope.spawn_future(fail("a")));
    futures.push_back(scope.spawn_future(fail("b")));
    CHECK_THROWS_WITH_AS(sync_wait(join(scope)), "2 errors: a; b", coracle::error_group);
  }
  CHECK_THROWS_WITH_AS(sync_wait(take(std::move(futures[0]))), "operation cancelled: a sibling has failed",
                       operation_cancelled);
}

TEST_CASE(
    "scope_future: a child that is cancelled makes its future throw operation_cancelled; it is no error") {
  async_manual_reset_event never;
  async_scope scope;
  auto future = scope.spawn_future(after(never, 1));
  scope.request_stop(stop_reason::shutting_down);
  sync_wait(join(scope));
  CHECK_THROWS_WITH_AS(sync_wait(take(std::move(future))), "operation cancelled: shutting down",
                       operation_cancelled);
}

TEST_CASE(
    "scope_future: a stop request to who awaits it ends the wait; the child goes on, its error is not lost") {
  async_manual_reset_event go;
  coracle::stop_source source;
  bool cancelled = false;
  async_scope scope;
  const auto wait = [&]() -> detached {
    auto future = scope.spawn_future(fail_after(go, "later"));
    try {
      co_await coracle::with_stop(std::move(future).operator co_await(), source.get_token());
    } catch (const operation_cancelled&) {
      cancelled = true;
    }
  };
  wait();
  source.request_stop();
  CHECK(cancelled);
  go.set();
  CHECK_THROWS_WITH_AS(sync_wait(join(scope)), "later", std::runtime_error);
}

TEST_CASE(
    "scope_future: what the child holds is gone before its result is given, and the result is destroyed "
    "once") {
  coracle::testing::lifetimes log;
  auto owner = std::make_shared<int>(1);
  const auto child = [&](std::shared_ptr<int>) -> task<coracle::testing::lifetime_probe> {
    co_return coracle::testing::lifetime_probe(log, 4);
  };
  async_scope scope;
  {
    auto taken = scope.spawn_future(child(owner));
    CHECK(owner.use_count() == 1);
    CHECK(sync_wait(take(std::move(taken))).id() == 4);
    const auto dropped = scope.spawn_future(child(owner));
    CHECK(log.alive == 1);
  }
  CHECK(log.alive == 0);
  sync_wait(join(scope));
}

TEST_CASE("scope_future: is ready as soon as join() goes on, on whichever thread") {
  for (const bool fails : {false, true}) {
    coracle_test::faster_thread joiner;
    async_manual_reset_event event;
    async_scope scope;
    const auto future = scope.spawn_future(fails ? fail_after(event, "failed") : after(event, 1));
    bool ready = false;
    std::string thrown;
    const auto wait = [&]() -> detached {
      co_await joiner.schedule();
      try {
        co_await scope.join();
      } catch (const std::runtime_error& error) {
        thrown = error.what();
      }
      ready = future.is_ready();
    };
    wait();
    event.set();
    CHECK(ready);
    CHECK(thrown == (fails ? "failed" : ""));
  }
}

TEST_CASE("scope_future: dropping one that has failed stops a sibling, which may end at once") {
  async_manual_reset_event never;
  async_scope scope;
  bool cancelled = false;
  const auto sibling = [&]() -> task<> {
    try {
      co_await coracle::throwing(never);
    } catch (const operation_cancelled&) {
      cancelled = true;
    }
  };
  scope.spawn(sibling());
  {
    const auto dropped = scope.spawn_future(fail("dropped"));
    CHECK_FALSE(cancelled);
  }
  CHECK(cancelled);
  CHECK_THROWS_WITH_AS(sync_wait(join(scope)), "dropped", std::runtime_error);
}

TEST_CASE("scope_future: its awaiter goes on on its own executor") {
  coracle::run_loop home, abroad;
  const coracle::executor* resumed_on = nullptr;
  async_scope scope;
  const auto wait = [&]() -> detached {
    co_await home.schedule();
    auto future = scope.spawn_future(abroad.schedule());
    co_await std::move(future);
    resumed_on = coracle::current_executor();
  };
  wait();
  home.run_pending();
  abroad.run_pending();
  CHECK(resumed_on == nullptr);
  home.run_pending();
  CHECK(resumed_on == &home);
  sync_wait(join(scope));
}

TEST_CASE("scope_future: a second await after one that returned the result ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          async_scope scope;
          auto future = scope.spawn_future([]() -> task<std::string> { co_return "one"; }());
          const auto await_twice = [&]() -> task<> {
            static_cast<void>(co_await std::move(future));
            static_cast<void>(co_await std::move(future));
          };
          sync_wait(await_twice());
        }) == "coracle: a scope_future was awaited twice: its result has been moved out\n");
}

TEST_CASE("scope_future: a second await after one that threw the error ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          async_scope scope;
          auto future = scope.spawn_future(fail("failed"));
          const auto await_once = [&]() -> task<int> { co_return co_await std::move(future); };
          const auto await_twice = [&]() -> task<> {
            static_cast<void>(co_await coracle::as_outcome(await_once()));
            static_cast<void>(co_await coracle::as_outcome(await_once()));
          };
          sync_wait(await_twice());
        }) == "coracle: a scope_future was awaited twice: its error has been thrown\n");
}

TEST_CASE("scope_future: one whose error join() has thrown is cancelled at each await") {
  async_scope scope;
  auto future = scope.spawn_future(fail("failed"));
  CHECK_THROWS_WITH_AS(sync_wait(join(scope)), "failed", std::runtime_error);
  for (int i = 0; i != 2; ++i) CHECK_THROWS_AS(sync_wait(std::move(future)), operation_cancelled);
}

TEST_CASE("scope_future: one whose await was stopped can be awaited again") {
  async_scope scope;
  coracle::async_manual_reset_event go;
  auto future = scope.spawn_future([&]() -> task<int> {
    co_await go;
    co_return 7;
  });
  coracle::stop_source stop;
  const auto await_future = [&]() -> task<int> { co_return co_await std::move(future); };
  const auto await_twice = [&]() -> task<int> {
    const auto stopped = co_await coracle::as_outcome(with_stop(await_future(), stop.get_token()));
    CHECK(stopped.is_cancelled());
    go.set();
    co_return co_await await_future();
  };
  stop.request_stop();
  CHECK(sync_wait(await_twice()) == 7);
  sync_wait(join(scope));
}

TEST_CASE("scope_future: when_ready() takes nothing, so a select() that it loses keeps the result") {
  async_scope scope;
  coracle::async_manual_reset_event go, other;
  auto future = scope.spawn_future(after(go, 7));
  auto failed = scope.spawn_future(fail_after(go, "failed"));
  other.set();
  const auto take_it = [&]() -> task<int> {
    const auto lost = co_await coracle::select(future.when_ready(), other);
    CHECK(lost.index() == 1);
    go.set();
    const auto won = co_await coracle::select(future.when_ready(), other);
    CHECK(won.index() == 0);
    co_await failed.when_ready();  // not even its exception
    CHECK(failed.is_ready());
    co_return co_await std::move(future);
  };
  CHECK(sync_wait(take_it()) == 7);
  CHECK_THROWS_AS(sync_wait(take(std::move(failed))), std::runtime_error);
  sync_wait(join(scope));
}

TEST_CASE("scope_future: one that was moved from is neither asked nor awaited") {
  CHECK(coracle_test::abort_message([] {
          async_scope scope;
          auto future = scope.spawn_future([]() -> task<int> { co_return 1; }());
          const auto taken = std::move(future);
          static_cast<void>(future.is_ready());
        }).find("coracle: an empty scope_future was asked whether it is ready") == 0);
  CHECK(coracle_test::abort_message([] {
          async_scope scope;
          auto future = scope.spawn_future([]() -> task<int> { co_return 1; }());
          const auto taken = std::move(future);
          static_cast<void>(std::move(future).operator co_await());
        }).find("coracle: an empty scope_future was awaited") == 0);
  CHECK(coracle_test::abort_message([] {
          async_scope scope;
          auto future = scope.spawn_future([]() -> task<int> { co_return 1; }());
          const auto taken = std::move(future);
          static_cast<void>(future.when_ready());
        }).find("coracle: an empty scope_future was awaited") == 0);
}
}  // namespace
