// tests/unit/with_scope_test.cpp -- a scope that is joined on every way out.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/detached.hpp"
#include "../support/many.hpp"
#include "../support/run_on_stack.hpp"
#include "async_scope_children.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::async_scope;
using coracle::operation_cancelled;
using coracle::scope_policy;
using coracle::stop_reason;
using coracle::sync_wait;
using coracle::task;
using coracle::with_scope;
using coracle_test::detached;
using coracle_test::fail_at_once;

task<> wait_and_log(async_manual_reset_event& event, std::vector<std::string>& log, std::string name) {
  try {
    co_await coracle::throwing(event);
    log.push_back(name + " ends");
  } catch (const operation_cancelled&) {
    log.push_back(name + " is stopped");
    throw;
  }
}
using log_of_names = std::vector<std::string>;

TEST_CASE("with_scope: gives the body's result once all children have ended") {
  async_manual_reset_event event;
  log_of_names log;
  int value = 0;
  const auto body = [&](async_scope& scope) -> task<int> {
    scope.spawn(wait_and_log(event, log, "child"));
    log.emplace_back("body ends");
    co_return 7;
  };
  const auto work = [&]() -> detached {
    value = co_await with_scope(body);
    log.emplace_back("over");
  };
  work();
  CHECK(log == log_of_names{"body ends"});
  event.set();
  CHECK(log == log_of_names{"body ends", "child ends", "over"});
  CHECK(value == 7);
}

TEST_CASE("with_scope: the result may be void, a reference or something that can only be moved") {
  std::string text = "text";
  const auto reference = [&](async_scope&) -> task<std::string&> { co_return text; };
  const auto owner = [](async_scope&) -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
  const auto none = [](async_scope&) -> task<> { co_return; };
  CHECK(&sync_wait(with_scope(reference)) == &text);
  CHECK(*sync_wait(with_scope(owner)) == 3);
  sync_wait(with_scope(none));
}

TEST_CASE("with_scope: an exception of the body stops the children, and is thrown when they have ended") {
  async_manual_reset_event never;
  log_of_names log;
  const auto body = [&](async_scope& scope) -> task<int> {
    scope.spawn(wait_and_log(never, log, "child"));
    throw std::runtime_error("body");
    co_return 0;
  };
  CHECK_THROWS_WITH_AS(sync_wait(with_scope(body)), "body", std::runtime_error);
  CHECK(log == log_of_names{"child is stopped"});
}

TEST_CASE("with_scope: a body that is no coroutine and throws is joined all the same") {
  async_manual_reset_event never;
  log_of_names log;
  const auto body = [&](async_scope& scope) -> task<> {
    scope.spawn(wait_and_log(never, log, "child"));
    throw std::runtime_error("body");
  };
  CHECK_THROWS_WITH_AS(sync_wait(with_scope(body)), "body", std::runtime_error);
  CHECK(log == log_of_names{"child is stopped"});
}

TEST_CASE("with_scope: a child that fails stops its siblings and the body") {
  async_manual_reset_event never, go;
  log_of_names log;
  std::string caught;
  const auto fail_later = [&]() -> task<> {
    co_await go;
    throw std::runtime_error("child");
  };
  const auto body = [&](async_scope& scope) -> task<int> {
    scope.spawn(wait_and_log(never, log, "sibling"));
    scope.spawn(fail_later());
    co_await wait_and_log(never, log, "body");
    co_return 1;
  };
  const auto work = [&]() -> detached {
    try {
      co_await with_scope(body);
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  };
  work();
  go.set();
  CHECK(log == log_of_names{"sibling is stopped", "body is stopped"});
  CHECK(caught == "child");
}

TEST_CASE("with_scope: the policy says what an error does") {
  log_of_names log;
  async_manual_reset_event event;
  const auto body = [&](async_scope& scope) -> task<> {
    scope.spawn(wait_and_log(event, log, "sibling"));
    scope.spawn(fail_at_once("a"));
    scope.spawn(fail_at_once("b"));
    event.set();
    co_return;
  };
  CHECK_THROWS_WITH_AS(sync_wait(with_scope(scope_policy::collect_all(), body)), "2 errors: a; b",
                       coracle::error_group);
  CHECK(log == log_of_names{"sibling ends"});
  int errors = 0;
  sync_wait(with_scope(scope_policy::supervise([&](const std::exception_ptr&) { ++errors; }), body));
  CHECK(errors == 2);
}

TEST_CASE("with_scope: an error of the body is thrown also where on_error gets those of the children") {
  async_manual_reset_event event;
  log_of_names log;
  int errors = 0;
  const auto policy = [&] { return scope_policy::supervise([&](const std::exception_ptr&) { ++errors; }); };
  const auto body = [&](async_scope& scope) -> task<int> {
    scope.spawn(wait_and_log(event, log, "sibling"));
    scope.spawn(fail_at_once("child"));
    event.set();
    throw std::runtime_error("body");
    co_return 0;
  };
  CHECK_THROWS_WITH_AS(static_cast<void>(sync_wait(with_scope(policy(), body))), "body", std::runtime_error);
  CHECK(log == log_of_names{"sibling ends"});
  CHECK(errors == 1);
  const auto no_coroutine = [](async_scope&) -> task<> { throw std::runtime_error("function"); };
  CHECK_THROWS_WITH_AS(sync_wait(with_scope(policy(), no_coroutine)), "function", std::runtime_error);
  CHECK(errors == 1);
}

TEST_CASE("with_scope: stopped before it does not call the body") {
  coracle::stop_source source;
  source.request_stop(stop_reason::shutting_down);
  int called = 0;
  const auto body = [&](async_scope&) -> task<> {
    ++called;
    co_return;
  };
  CHECK_THROWS_WITH_AS(sync_wait(coracle::with_stop(with_scope(body), source.get_token())),
                       "operation cancelled: shutting down", operation_cancelled);
  CHECK(called == 0);
}

TEST_CASE("with_scope: a stop request while it runs stops body and children, joins them, and is thrown") {
  coracle::run_loop loop;
  coracle::stop_source source;
  async_manual_reset_event never;
  log_of_names log;
  stop_reason thrown = stop_reason::none;
  const auto clean_up = [&]() -> task<> {
    try {
      co_await never;
    } catch (const operation_cancelled&) {
    }
    co_await coracle::shielded(loop.schedule());
    log.emplace_back("cleaned up");
  };
  const auto body = [&](async_scope& scope) -> task<> {
    scope.spawn(clean_up());
    co_await wait_and_log(never, log, "body");
  };
  const auto work = [&]() -> detached {
    try {
      co_await coracle::with_stop(with_scope(body), source.get_token());
    } catch (const operation_cancelled& cancelled) {
      thrown = cancelled.reason();
    }
  };
  work();
  source.request_stop(stop_reason::timed_out);
  CHECK(log == log_of_names{"body is stopped"});
  CHECK(thrown == stop_reason::none);
  loop.run_pending();
  CHECK(log == log_of_names{"body is stopped", "cleaned up"});
  CHECK(thrown == stop_reason::timed_out);
}

TEST_CASE("with_scope: children cut short by a request from outside are not passed over in silence") {
  coracle::stop_source source;
  async_manual_reset_event never;
  log_of_names log;
  bool cancelled = false;
  const auto body = [&](async_scope& scope) -> task<> {
    scope.spawn(wait_and_log(never, log, "child"));
    co_return;
  };
  const auto work = [&]() -> detached {
    try {
      co_await coracle::with_stop(with_scope(body), source.get_token());
    } catch (const operation_cancelled&) {
      cancelled = true;
    }
  };
  work();
  source.request_stop();
  CHECK(cancelled);
}

TEST_CASE(
    "with_scope: the scope's own request_stop() ends the children without an error; the body's end is "
    "thrown") {
  async_manual_reset_event never;
  log_of_names log;
  const auto shut_down = [](async_scope& scope) -> task<> {
    scope.request_stop(stop_reason::shutting_down);
    co_return;
  };
  const auto serve = [&](async_scope& scope) -> task<> {
    scope.spawn(wait_and_log(never, log, "child"));
    scope.spawn(shut_down(scope));
    co_return;
  };
  sync_wait(with_scope(serve));
  CHECK(log == log_of_names{"child is stopped"});
  const auto serve_longer = [&](async_scope& scope) -> task<int> {
    scope.spawn(shut_down(scope));
    co_await never;
    co_return 1;
  };
  CHECK_THROWS_WITH_AS(static_cast<void>(sync_wait(with_scope(serve_longer))),
                       "operation cancelled: shutting down", operation_cancelled);
}

TEST_CASE("with_scope: goes on on the executor of its awaiter") {
  coracle::run_loop home, abroad;
  const coracle::executor* resumed_on = nullptr;
  const auto body = [&](async_scope& scope) -> task<> {
    scope.spawn(abroad, []() -> task<> { co_return; }());
    co_await abroad.schedule();
  };
  const auto work = [&]() -> detached {
    co_await home.schedule();
    co_await with_scope(body);
    resumed_on = coracle::current_executor();
  };
  work();
  home.run_pending();
  abroad.run_pending();
  CHECK(resumed_on == nullptr);
  home.run_pending();
  CHECK(resumed_on == &home);
}

task<int> nest(int depth, async_manual_reset_event& bottom) {
  if (depth == 0) {
    co_await bottom;
    co_return 0;
  }
  const auto body = [&](async_scope&) -> task<int> { co_return co_await nest(depth - 1, bottom) + 1; };
  co_return co_await with_scope(body);
}

TEST_CASE("with_scope: 100,000 inside one another fit a small stack: woken, or stopped from the top") {
  constexpr int depth = coracle_test::many(100'000);
  int reached = 0;
  bool cancelled = false;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&] {
    async_manual_reset_event bottom, never;
    const auto work = [&]() -> detached { reached = co_await nest(depth, bottom); };
    work();
    bottom.set();
    coracle::stop_source source;
    const auto stop = [&]() -> detached {
      try {
        co_await coracle::with_stop(nest(5'000, never), source.get_token());
      } catch (const operation_cancelled&) {
        cancelled = true;
      }
    };
    stop();
    source.request_stop();
  });
  CHECK(ran);
  CHECK(reached == depth);
  CHECK(cancelled);
}

TEST_CASE("with_scope: where memory runs out it throws, joined" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const int failed = coracle::testing::fail_each_allocation([] {
    const auto body = [](async_scope& scope) -> task<int> {
      scope.spawn([]() -> task<> { co_return; }());
      co_return 1;
    };
    const auto work = [&]() -> detached {
      try {
        const int one = co_await with_scope(body);
        CHECK(one == 1);
      } catch (const std::bad_alloc&) {
      }
    };
    try {
      work();
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(failed >= 5);
}
}  // namespace
