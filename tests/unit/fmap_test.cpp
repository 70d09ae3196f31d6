// tests/unit/fmap_test.cpp -- a function applied to the result of an awaitable.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_expected.hpp>  // before fmap.hpp: an expected must not change what fmap() calls
#include <coracle/compose/fmap.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "../support/detached.hpp"
#include "child_tasks.hpp"

namespace {
using coracle::fmap;
using coracle::sync_wait;
using coracle::task;
using coracle_test::detached;
using coracle_test::give;

task<> nothing() { co_return; }
task<int> fail() {
  throw std::runtime_error("no value");
  co_return 0;
}

TEST_CASE("fmap: gives the function's result of the value") {
  CHECK(sync_wait(fmap(give(41), [](int n) { return std::to_string(n + 1); })) == "42");
}

TEST_CASE("fmap: calls the function without arguments where the awaitable gives nothing") {
  CHECK(sync_wait(fmap(nothing(), [] { return 7; })) == 7);
}

TEST_CASE("fmap: a function that returns nothing makes an awaitable of nothing") {
  int seen = 0;
  auto mapped = fmap(give(3), [&seen](int n) { seen = n; });
  static_assert(std::is_void_v<coracle::await_result_t<decltype(mapped)>>);
  sync_wait(std::move(mapped));
  CHECK(seen == 3);
}

TEST_CASE("fmap: references go in and out without a copy") {
  std::pair<int, std::string> data{1, "text"};
  const auto second = [](std::pair<int, std::string>& both) -> std::string& { return both.second; };
  auto mapped = fmap(give<std::pair<int, std::string>&>(data), second);
  static_assert(std::is_same_v<coracle::await_result_t<decltype(mapped)>, std::string&>);
  CHECK(&sync_wait(std::move(mapped)) == &data.second);
}

TEST_CASE("fmap: a value that can only be moved is moved in and out") {
  const auto grow = [](std::unique_ptr<int> n) {
    ++*n;
    return n;
  };
  CHECK(*sync_wait(fmap(give(std::make_unique<int>(1)), grow)) == 2);
}

TEST_CASE("fmap: a function object that can only be moved is kept until the await ends") {
  coracle::async_manual_reset_event event;
  int result = 0;
  const auto work = [&]() -> detached {
    auto kept = fmap(event, [owner = std::make_unique<int>(5)] { return *owner; });
    result = co_await std::move(kept);
  };
  work();
  CHECK(result == 0);
  event.set();
  CHECK(result == 5);
}

struct point {
  int x;
};

TEST_CASE("fmap: whatever std::invoke can call, a member pointer too") {
  point named{8};
  static_assert(std::is_same_v<coracle::await_result_t<decltype(fmap(give(named), &point::x))>, int>);
  static_assert(
      std::is_same_v<coracle::await_result_t<decltype(fmap(give<point&>(named), &point::x))>, int&>);
  CHECK(sync_wait(fmap(give(point{9}), &point::x)) == 9);
  CHECK(&sync_wait(fmap(give<point&>(named), &point::x)) == &named.x);
  CHECK(&sync_wait(fmap(give(&named), &point::x)) == &named.x);
  CHECK(&sync_wait(fmap(give(std::ref(named)), &point::x)) == &named.x);
}

TEST_CASE("fmap: nests") {
  const auto twice = [](int n) { return 2 * n; };
  CHECK(sync_wait(fmap(fmap(fmap(give(5), twice), twice), twice)) == 40);
}

TEST_CASE("fmap: an exception of the awaitable passes by the function") {
  bool called = false;
  CHECK_THROWS_WITH_AS(sync_wait(fmap(fail(), [&called](int) { called = true; })), "no value",
                       std::runtime_error);
  CHECK_FALSE(called);
}

TEST_CASE("fmap: an exception of the function is thrown from the await") {
  const auto refuse = [](int) -> int { throw std::logic_error("refused"); };
  CHECK_THROWS_WITH_AS(static_cast<void>(sync_wait(fmap(give(1), refuse))), "refused", std::logic_error);
}

TEST_CASE(
    "fmap: the function is not called before the value is there, and runs where the awaitable resumes") {
  coracle::run_loop loop;
  coracle::async_manual_reset_event event;
  const coracle::executor* ran_on = nullptr;
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    const auto look = [&ran_on] { ran_on = coracle::current_executor(); };
    co_await fmap(event, look);
  };
  work();
  CHECK(loop.run_one());
  event.set();
  CHECK(ran_on == nullptr);
  CHECK(loop.run_one());
  CHECK(ran_on == &loop);
}

/// Suspends with each of the three kinds of await_suspend.
template <class Returned>
struct suspends_with {
  bool await_ready() const noexcept { return false; }
  Returned await_suspend(std::coroutine_handle<> suspended) noexcept {
    waiting = suspended;
    if constexpr (std::is_same_v<Returned, bool>) return true;
    if constexpr (std::is_same_v<Returned, std::coroutine_handle<>>) return std::noop_coroutine();
  }
  int await_resume() const noexcept { return 6; }
  std::coroutine_handle<> waiting;
};

TEST_CASE_TEMPLATE("fmap: suspends as the awaitable does, a named one is used in place", Returned, void, bool,
                   std::coroutine_handle<>) {
  suspends_with<Returned> inner;
  int result = 0;
  const auto work = [&]() -> detached {
    const auto times_seven = [](int n) { return 7 * n; };
    result = co_await fmap(inner, times_seven);
  };
  work();
  CHECK(result == 0);
  REQUIRE(inner.waiting);
  coracle::resume(inner.waiting);
  CHECK(result == 42);
}

TEST_CASE("fmap: the awaitable inherits the environment of the awaiter") {
  const auto ask = []() -> task<bool> {
    const auto token = co_await coracle::this_task::stop_token();
    co_return token.stop_requested();
  };
  const auto negate = [](bool b) { return !b; };
  const auto parent = [&]() -> task<bool> { co_return co_await fmap(ask(), negate); };
  coracle::stop_source source;
  source.request_stop();
  CHECK(sync_wait(parent()));
  CHECK_FALSE(sync_wait(coracle::with_stop(parent(), source.get_token())));
}

TEST_CASE("fmap: allocates nothing" * doctest::skip(!coracle::testing::allocations_are_counted)) {
  coracle::async_manual_reset_event first, second;
  int result = 0;
  const auto work = [&]() -> detached {
    const auto next = [&result] { return ++result; };
    const auto plus = [](int n) { return n + 1; };
    co_await first;
    result = co_await fmap(fmap(second, next), plus);
  };
  work();
  const auto before = coracle::testing::allocations();
  first.set();
  second.set();
  const auto after = coracle::testing::allocations();
  CHECK(result == 2);
  CHECK(after == before);
}

TEST_CASE("fmap: value | fmap(function) is fmap(value, function), and chains") {
  const auto plus = [](int n) { return n + 1; };
  const auto text = [](int n) { return std::to_string(n); };
  CHECK(sync_wait(give(41) | fmap(plus)) == 42);
  CHECK(sync_wait(give(40) | fmap(plus) | fmap(plus) | fmap(text)) == "42");
  static_assert(std::is_same_v<decltype(give(1) | fmap(plus)), decltype(fmap(give(1), plus))>);
  int result = 0;
  const auto work = [&]() -> task<> { result = co_await (give(1) | fmap(plus)); };
  sync_wait(work());
  CHECK(result == 2);
}

TEST_CASE("fmap: a pipe passes a named awaitable on by reference, and takes a moved one") {
  coracle::async_manual_reset_event event{true};
  CHECK(sync_wait(event | fmap([] { return 5; })) == 5);
  auto named = give(6);
  CHECK(sync_wait(std::move(named) | fmap([](int n) { return n; })) == 6);
}

TEST_CASE(
    "fmap: fmap(function) can be kept and used again, also const, or moved if the function only moves") {
  const auto twice = fmap([](int n) { return 2 * n; });
  auto thrice = fmap([](int n) { return 3 * n; });
  CHECK(sync_wait(give(1) | twice | twice | thrice | thrice) == 36);
  auto once = fmap([owner = std::make_unique<int>(5)](int n) { return n + *owner; });
  CHECK(sync_wait(give(1) | std::move(once)) == 6);
}

TEST_CASE("fmap: a pipe keeps a function with state alive until the await ends") {
  coracle::async_manual_reset_event event;
  std::string result;
  const auto work = [&]() -> detached {
    auto mapped = event | fmap([text = std::string(100, 'x')] { return text; });
    result = co_await std::move(mapped);
  };
  work();
  event.set();
  CHECK(result == std::string(100, 'x'));
}

/// A type with its own fmap, like async_generator.
struct own_fmap {
  int value;
  template <class Function>
  friend int fmap(own_fmap self, Function&& function) {
    return function(self.value);
  }
};
TEST_CASE("fmap: a pipe finds the fmap of a type that brings its own") {
  CHECK((own_fmap{20} | fmap([](int n) { return n + 1; })) == 21);
}
}  // namespace
