// tests/unit/on_scope_exit_test.cpp -- functions that are called when a scope is left.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/utility/on_scope_exit.hpp>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "../support/detached.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::on_scope_exit;
using coracle::on_scope_failure;
using coracle::on_scope_success;
using coracle::task;
using coracle_test::detached;

struct calls {
  int exit = 0;
  int failure = 0;
  int success = 0;
  friend bool operator==(const calls&, const calls&) = default;
};

/// Creates a guard of each kind, and then calls `body`.
template <class Body>
void guarded(calls& made, Body body) {
  const auto exit = on_scope_exit([&] { ++made.exit; });
  const auto failure = on_scope_failure([&] { ++made.failure; });
  const auto success = on_scope_success([&] { ++made.success; });
  body();
}

TEST_CASE("on_scope_exit, on_scope_success: called at the end of the scope, and not before") {
  calls made;
  guarded(made, [&] { CHECK(made == calls{}); });
  CHECK(made == calls{.exit = 1, .failure = 0, .success = 1});
}

TEST_CASE("on_scope_exit, on_scope_failure: called where an exception leaves the scope") {
  calls made;
  CHECK_THROWS_AS(guarded(made, [] { throw std::runtime_error("out"); }), std::runtime_error);
  CHECK(made == calls{.exit = 1, .failure = 1, .success = 0});
}

TEST_CASE("on_scope_failure: an exception that is caught inside the scope is no failure") {
  calls made;
  guarded(made, [] {
    try {
      throw std::runtime_error("inside");
    } catch (const std::runtime_error&) {
    }
  });
  CHECK(made == calls{.exit = 1, .failure = 0, .success = 1});
}

TEST_CASE("on_scope_success: a scope inside a destructor that an exception runs may succeed") {
  calls made;
  struct runs_at_end {
    calls& made;
    ~runs_at_end() {
      guarded(made, [] {});
    }
  };
  try {
    const runs_at_end cleanup{made};
    throw std::runtime_error("outer");
  } catch (const std::runtime_error&) {
  }
  CHECK(made == calls{.exit = 1, .failure = 0, .success = 1});
}

TEST_CASE("on_scope_exit, on_scope_failure, on_scope_success: cancelled, they call nothing") {
  calls made;
  {
    auto exit = on_scope_exit([&] { ++made.exit; });
    auto success = on_scope_success([&] { ++made.success; });
    exit.cancel();
    success.cancel();
  }
  try {
    auto failure = on_scope_failure([&] { ++made.failure; });
    failure.cancel();
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
  }
  CHECK(made == calls{});
}

TEST_CASE("on_scope_exit: call_now() calls at once and not again") {
  int called = 0;
  {
    auto guard = on_scope_exit([&] { ++called; });
    guard.call_now();
    CHECK(called == 1);
  }
  CHECK(called == 1);
}

TEST_CASE("on_scope_exit: moved, it is the new guard that calls") {
  int called = 0;
  {
    auto outer = on_scope_exit([owner = std::make_unique<int>(5), &called] { called += *owner; });
    {
      const auto inner = std::move(outer);
      CHECK(called == 0);
    }
    CHECK(called == 5);
  }
  CHECK(called == 5);
}

TEST_CASE("on_scope_exit: a named function object is kept by reference") {
  struct counter {
    int count = 0;
    counter() = default;
    counter(const counter&) = delete;
    void operator()() noexcept { ++count; }
  } named;
  {
    const auto guard = on_scope_exit(named);
  }
  CHECK(named.count == 1);
}

TEST_CASE("on_scope_success: an exception of the function leaves the scope") {
  const auto scope = [] {
    const auto guard = on_scope_success([] { throw std::runtime_error("from the guard"); });
  };
  CHECK_THROWS_WITH_AS(scope(), "from the guard", std::runtime_error);
}

TEST_CASE("on_scope_exit, on_scope_failure, on_scope_success: in a coroutine that waits in between") {
  coracle::async_manual_reset_event event;
  calls made;
  bool fails = false, caught = false;
  const auto inner = [&]() -> task<> {
    const auto exit = on_scope_exit([&] { ++made.exit; });
    const auto failure = on_scope_failure([&] { ++made.failure; });
    const auto success = on_scope_success([&] { ++made.success; });
    co_await event;
    if (fails) throw std::runtime_error("out");
  };
  const auto run = [&]() -> detached {
    try {
      co_await inner();
    } catch (const std::runtime_error&) {
      caught = true;
    }
  };
  run();
  CHECK(made == calls{});
  event.set();
  CHECK(made == calls{.exit = 1, .failure = 0, .success = 1});
  fails = true;
  run();
  CHECK(made == calls{.exit = 2, .failure = 1, .success = 1});
  CHECK(caught);
}

TEST_CASE("on_scope_exit, on_scope_success: called where the coroutine is destroyed while it is suspended") {
  calls made;
  const auto body = [&]() -> coracle_test::test_coroutine {
    const auto exit = on_scope_exit([&] { ++made.exit; });
    const auto failure = on_scope_failure([&] { ++made.failure; });
    const auto success = on_scope_success([&] { ++made.success; });
    co_await std::suspend_always{};
    FAIL("not resumed");
  };
  {
    auto suspended = body();
    suspended.resume();
    CHECK(made == calls{});
  }
  CHECK(made == calls{.exit = 1, .failure = 0, .success = 1});
}

constexpr auto nothing = []() noexcept {};
constexpr auto may_throw = [] {};
static_assert(std::is_nothrow_destructible_v<decltype(on_scope_exit(may_throw))>);
static_assert(std::is_nothrow_destructible_v<decltype(on_scope_failure(may_throw))>);
static_assert(std::is_nothrow_destructible_v<decltype(on_scope_success(nothing))>);
static_assert(!std::is_nothrow_destructible_v<decltype(on_scope_success(may_throw))>);
static_assert(!std::is_copy_constructible_v<decltype(on_scope_exit(nothing))>);
}  // namespace
