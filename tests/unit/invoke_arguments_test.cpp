// tests/unit/invoke_arguments_test.cpp -- what invoke() calls, with which arguments, and what it returns.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/invoke.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/manual_scheduler.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/time/timeout.hpp>
#include <functional>
#include <memory>
#include <string>

namespace {
using coracle::async_manual_reset_event;
using coracle::sync_wait;
using coracle::task;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle::testing::poll;

TEST_CASE("invoke: the function is called when it is awaited, not before") {
  int calls = 0;
  auto work =
      coracle::invoke([&]() -> task<int> { return ++calls, [](int n) -> task<int> { co_return n; }(calls); });
  CHECK(calls == 0);
  CHECK(sync_wait(std::move(work)) == 1);
  CHECK(calls == 1);
}
TEST_CASE("invoke: arguments are kept by value, and passed on as rvalues") {
  async_manual_reset_event event;
  const auto length = [](const std::string& kept, async_manual_reset_event& go,
                         std::string moved) -> task<std::size_t> {
    co_await go;
    co_return kept.size() + moved.size();
  };
  auto running = poll(coracle::invoke(length, std::string(100, 'x'), std::ref(event), "literal"));
  REQUIRE(!running.ready());
  event.set();
  REQUIRE(running.run());
  CHECK(running.get() == 107);
}
TEST_CASE("invoke: an argument that can only be moved, and one by reference") {
  int n = 1;
  const auto add = [](std::unique_ptr<int> owned, int& referred) -> task<> {
    referred += *owned;
    co_return;
  };
  sync_wait(coracle::invoke(add, std::make_unique<int>(41), std::ref(n)));
  CHECK(n == 42);
}
TEST_CASE("invoke: arguments are copied and moved no more often than they have to be") {
  lifetimes log;
  const lifetime_probe given_by_name{log};
  const auto take = [](lifetime_probe) -> task<> { co_return; };
  sync_wait(coracle::invoke(take, given_by_name));
  CHECK(log.copies == 1);
  CHECK(log.alive == 1);
}
TEST_CASE("invoke: a value, a reference, nothing, and something that can only be moved") {
  std::string text = "text";
  CHECK(sync_wait(coracle::invoke([]() -> task<int> { co_return 3; })) == 3);
  CHECK(&sync_wait(coracle::invoke([&]() -> task<std::string&> { co_return text; })) == &text);
  static_assert(
      std::is_void_v<coracle::await_result_t<decltype(coracle::invoke([]() -> task<> { co_return; }))>>);
  CHECK(*sync_wait(coracle::invoke(
            []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); })) == 5);
}
struct server {
  int port;
  task<int> serve(int more) const { co_return port + more; }
};
TEST_CASE("invoke: a member function, of an object, a reference, a pointer and an owner") {
  server mine{80};
  CHECK(sync_wait(coracle::invoke(&server::serve, mine, 1)) == 81);
  CHECK(sync_wait(coracle::invoke(&server::serve, std::ref(mine), 2)) == 82);
  CHECK(sync_wait(coracle::invoke(&server::serve, &mine, 3)) == 83);
  CHECK(sync_wait(coracle::invoke(&server::serve, std::make_unique<server>(mine), 4)) == 84);
}
TEST_CASE("invoke: what is no task can be returned, too, as an event") {
  async_manual_reset_event event;
  auto running = poll(coracle::invoke([&]() -> async_manual_reset_event& { return event; }));
  CHECK(!running.ready());
  event.set();
  CHECK(running.run());
  auto again = poll(coracle::invoke([&] { return event.operator co_await(); }));
  CHECK(again.ready());
}
TEST_CASE("invoke: the coroutine takes its frame from an allocator among the arguments") {
  coracle::testing::allocator_log log;
  using add_one = task<int>(std::allocator_arg_t, coracle::testing::failing_allocator<int>, int);
  // So that clang cannot elide the frame into the caller's.
  add_one* volatile add = [](std::allocator_arg_t, coracle::testing::failing_allocator<int>,
                             int n) -> task<int> { co_return n + 1; };
  CHECK(sync_wait(
            coracle::invoke(add, std::allocator_arg, coracle::testing::failing_allocator<int>{log}, 1)) == 2);
  CHECK(log.allocated == 1);
  CHECK(log.bytes == 0);
}
TEST_CASE("invoke: a coroutine inherits the environment, and goes on where the inner one ended") {
  coracle::testing::manual_scheduler there;
  const coracle::task_local<int> depth{0};
  bool back = false;
  const auto inner = [&](int expected) -> task<> {
    CHECK(co_await depth.value() == expected);
    co_await there.schedule();
  };
  const auto outer = [&]() -> task<> {
    co_await coracle::with_value(coracle::invoke(inner, 3), depth, 3);
    back = true;
  };
  auto running = poll(outer());
  CHECK(!running.ready());
  while (there.run_one()) {
  }
  CHECK(back);
}
// The forms that g++ 12 compiles as they are written, in an expression with a co_await.
TEST_CASE("invoke: captures without destructors, names and arguments are right behind co_await") {
  lifetimes log;
  const auto work = [&]() -> task<int> {
    const lifetime_probe probe{log, 1};
    int sum = 0;
    sum += co_await coracle::invoke([&]() -> task<int> { co_return probe.id(); });
    auto named = [probe]() -> task<int> { co_return probe.id(); };
    sum += co_await coracle::invoke(named);
    auto bound = coracle::invoke([probe]() -> task<int> { co_return probe.id(); });
    sum += co_await std::move(bound);
    sum += co_await coracle::invoke([](lifetime_probe mine) -> task<int> { co_return mine.id(); }, probe);
    sum += co_await coracle::invoke([](const lifetime_probe& mine) -> task<int> { co_return mine.id(); },
                                    lifetime_probe{log, 1});
    co_return sum;
  };
  CHECK(sync_wait(work()) == 5);
  CHECK(log.alive == 0);
}
struct callable_awaitable {
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  int await_resume() const noexcept { return 1; }
  task<int> operator()() const { co_return 2; }
};
TEST_CASE("invoke: what is awaitable and can be called is awaited, but by invoke()") {
  CHECK(std::get<0>(sync_wait(coracle::when_all(callable_awaitable{}))) == 1);
  CHECK(sync_wait(coracle::timeout(callable_awaitable{}, std::chrono::hours::max())) == 1);
  CHECK(sync_wait(coracle::invoke(callable_awaitable{})) == 2);
}
TEST_CASE("when_all: functions and awaitables beside one another") {
  const auto two = []() -> task<int> { co_return 2; };
  auto [a, b, c] = sync_wait(coracle::when_all([]() -> task<int> { co_return 1; }, two(), two));
  CHECK(a + b + c == 5);
}
}  // namespace
