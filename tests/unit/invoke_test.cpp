// tests/unit/invoke_test.cpp -- a function and its arguments live until what the function returns has ended.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/invoke.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/manual_scheduler.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/time/hedge.hpp>
#include <coracle/time/retry.hpp>
#include <coracle/time/timeout.hpp>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
using coracle::async_manual_reset_event;
using coracle::async_scope;
using coracle::inline_scheduler;
using coracle::operation_cancelled;
using coracle::sync_wait;
using coracle::task;
using coracle::testing::copy_failed;
using coracle::testing::fail_each_allocation;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle::testing::poll;

constexpr std::chrono::hours no_limit = std::chrono::hours::max();
const coracle::task_local<int> some_local{0};

// Each passes on a function unchanged.
template <class F>
using given = F&&;
struct by_invoke {
  static auto start(auto&& f) { return coracle::invoke(static_cast<given<decltype(f)>>(f)); }
};
struct by_make_task {
  static auto start(auto&& f) {
    return coracle::make_task(coracle::invoke(static_cast<given<decltype(f)>>(f)));
  }
};
struct by_when_all {
  static auto start(auto&& f) { return coracle::when_all(static_cast<given<decltype(f)>>(f)); }
};
struct by_when_all_ready {
  static auto start(auto&& f) { return coracle::when_all_ready(static_cast<given<decltype(f)>>(f)); }
};
struct by_when_any {
  static auto start(auto&& f) { return coracle::when_any(static_cast<given<decltype(f)>>(f)); }
};
struct by_select {
  static auto start(auto&& f) { return coracle::select(static_cast<given<decltype(f)>>(f)); }
};
struct by_timeout {
  static auto start(auto&& f) { return coracle::timeout(static_cast<given<decltype(f)>>(f), no_limit); }
};
struct by_stop_at {
  static auto start(auto&& f) {
    return coracle::stop_at(static_cast<given<decltype(f)>>(f), std::chrono::steady_clock::time_point::max());
  }
};
struct by_stop_when {
  static auto start(auto&& f) {
    return coracle::stop_when(static_cast<given<decltype(f)>>(f), coracle::stop_token{});
  }
};
struct by_with_value {
  static auto start(auto&& f) {
    return coracle::with_value(static_cast<given<decltype(f)>>(f), some_local, 1);
  }
};
struct by_schedule_on {
  static auto start(auto&& f) {
    return coracle::schedule_on(static_cast<given<decltype(f)>>(f), inline_scheduler{});
  }
};
struct by_via {
  static auto start(auto&& f) { return coracle::via(static_cast<given<decltype(f)>>(f), inline_scheduler{}); }
};
struct by_with_scope {
  static auto start(auto&& f) {
    return coracle::with_scope([](async_scope&, auto body) { return coracle::invoke(std::move(body)); },
                               static_cast<given<decltype(f)>>(f));
  }
};
struct by_retry {
  static auto start(auto&& f) {
    return coracle::retry({.max_attempts = 1}, static_cast<given<decltype(f)>>(f));
  }
};
struct by_hedge {
  static auto start(auto&& f) { return coracle::hedge(no_limit, static_cast<given<decltype(f)>>(f), 1); }
};
#define EACH_WAY                                                                                           \
  by_invoke, by_make_task, by_when_all, by_when_all_ready, by_when_any, by_select, by_timeout, by_stop_at, \
      by_stop_when, by_with_value, by_schedule_on, by_via, by_with_scope, by_retry, by_hedge

// A lambda with captures, written out: one type for all tests, because each type is compiled with each way.
class closure {
 public:
  using body_type = task<>(const closure&);
  closure(lifetime_probe its_probe, body_type* body, async_manual_reset_event& its_event, int& its_number)
      : probe(std::move(its_probe)), event(its_event), number(its_number), body_(body) {}
  task<> operator()() const { return body_(*this); }

  lifetime_probe probe;
  async_manual_reset_event& event;
  int& number;

 private:
  body_type* body_;
};

TEST_CASE_TEMPLATE("invoke: a lambda and its captures live until its coroutine has ended", Way, EACH_WAY) {
  lifetimes log;
  async_manual_reset_event event;
  int seen = 0;
  {
    const auto body = [](const closure& self) -> task<> {
      co_await self.event;
      self.number = self.probe.id();
    };
    auto work = Way::start(closure(lifetime_probe{log, 7}, body, event, seen));
    CHECK(log.destroyed.empty());
    auto running = poll(std::move(work));
    REQUIRE(!running.ready());
    CHECK(log.destroyed.empty());
    event.set();
    REQUIRE(running.run());
    CHECK(seen == 7);
    running.get();
  }
  CHECK(log.alive == 0);
  CHECK(log.copies == 0);
  CHECK(log.destroyed == std::vector{7});
}
TEST_CASE_TEMPLATE("invoke: a lambda that has a name is copied", Way, EACH_WAY) {
  lifetimes log;
  async_manual_reset_event event;
  int unused = 0;
  const auto start = [&] {
    const auto body = [](const closure& self) -> task<> {
      co_await self.event;
      CHECK(!self.probe.moved_from());
    };
    const closure named(lifetime_probe{log}, body, event, unused);
    return poll(Way::start(named));
  };
  {
    auto running = start();
    REQUIRE(!running.ready());
    CHECK(log.alive >= 1);
    event.set();
    REQUIRE(running.run());
    running.get();
  }
  CHECK(log.alive == 0);
}
TEST_CASE_TEMPLATE("invoke: the captures are destroyed after a stop request, too", Way, EACH_WAY) {
  lifetimes log;
  async_manual_reset_event never;
  int unused = 0;
  {
    const auto body = [](const closure& self) -> task<> {
      co_await self.event;
      FAIL("not stopped");
    };
    auto running = poll(Way::start(closure(lifetime_probe{log, 7}, body, never, unused)));
    REQUIRE(!running.ready());
    running.request_stop();
    REQUIRE(running.run());
    if constexpr (std::is_same_v<Way, by_when_all_ready>) {
      CHECK(std::get<0>(running.get()).is_cancelled());
    } else {
      CHECK_THROWS_AS(running.get(), operation_cancelled);
    }
  }
  CHECK(log.alive == 0);
  CHECK(log.destroyed == std::vector{7});
}
TEST_CASE("invoke: what is destroyed while it waits destroys the captures") {
  lifetimes log;
  const auto waits = [](lifetimes& its_log) -> task<> {
    auto named =
        coracle::invoke([probe = lifetime_probe{its_log, 7}]() -> task<> { co_await std::suspend_always{}; });
    co_await std::move(named);
  };
  {
    auto running = poll(waits(log));
    REQUIRE(!running.ready());
    CHECK(log.destroyed.empty());
  }
  CHECK(log.alive == 0);
  CHECK(log.destroyed == std::vector{7});
}
TEST_CASE_TEMPLATE("invoke: a copy that throws leaves nothing behind, and nothing is called", Way, EACH_WAY) {
  lifetimes log;
  async_manual_reset_event unused;
  int calls = 0;
  {
    const auto body = [](const closure& self) -> task<> {
      ++self.number;
      co_return;
    };
    const closure named(lifetime_probe{log}, body, unused, calls);
    log.copies_until_throw = 0;
    CHECK_THROWS_AS(static_cast<void>(Way::start(named)), copy_failed);
    CHECK(log.alive == 1);
  }
  CHECK(calls == 0);
}
[[gnu::noinline]] std::unique_ptr<int> on_the_heap(int value) { return std::make_unique<int>(value); }
TEST_CASE_TEMPLATE("invoke: without memory nothing leaks" *
                       doctest::skip(!coracle::testing::allocations_are_counted),
                   Way, EACH_WAY) {
  CHECK(fail_each_allocation([] {
          try {
            sync_wait(Way::start([owned = on_the_heap(1)]() -> task<> { co_return; }));
          } catch (const std::bad_alloc&) {
          }
        }) >= 1);  // clang may make no frame
}
TEST_CASE_TEMPLATE("invoke: an exception of the function is that of the await", Way, EACH_WAY) {
  lifetimes log;
  async_manual_reset_event unused;
  int number = 0;
  const auto body = [](const closure&) -> task<> { throw std::runtime_error("no task"); };
  const closure fails(lifetime_probe{log}, body, unused, number);
  if constexpr (std::is_same_v<Way, by_when_all_ready>) {
    CHECK(std::get<0>(sync_wait(Way::start(fails))).has_error());
  } else {
    auto work = Way::start(fails);
    CHECK_THROWS_WITH_AS(sync_wait(std::move(work)), "no task", std::runtime_error);
  }
  CHECK(log.alive == 1);
}

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
  CHECK(sync_wait(coracle::timeout(callable_awaitable{}, no_limit)) == 1);
  CHECK(sync_wait(coracle::invoke(callable_awaitable{})) == 2);
}
TEST_CASE("when_all: functions and awaitables beside one another") {
  const auto two = []() -> task<int> { co_return 2; };
  auto [a, b, c] = sync_wait(coracle::when_all([]() -> task<int> { co_return 1; }, two(), two));
  CHECK(a + b + c == 5);
}

TEST_CASE("async_scope: a spawned lambda lives until its coroutine has ended, and no longer") {
  lifetimes log;
  async_manual_reset_event event;
  int seen = 0;
  async_scope scope;
  scope.spawn([probe = lifetime_probe{log, 7}, &event, &seen]() -> task<> {
    co_await event;
    seen = probe.id();
  });
  CHECK(log.alive == 1);
  event.set();
  CHECK(seen == 7);
  CHECK(log.alive == 0);
  CHECK(log.copies == 0);
  sync_wait(scope.join());
}
TEST_CASE("async_scope: a spawned function keeps its arguments, also on another scheduler") {
  lifetimes log;
  coracle::testing::manual_scheduler place;
  async_manual_reset_event event;
  std::vector<std::string> seen;
  const auto note = [&](const std::string& text, lifetime_probe) -> task<> {
    co_await event;
    seen.push_back(text);
  };
  async_scope scope;
  scope.spawn(note, std::string(50, 'a'), lifetime_probe{log});
  scope.spawn(place, coracle::invoke(note, std::string(50, 'b'), lifetime_probe{log}));
  scope.spawn(place, [&, text = std::string(50, 'c')]() -> task<> {
    seen.push_back(text);
    co_return;
  });
  event.set();
  CHECK(seen == std::vector{std::string(50, 'a')});
  while (place.run_one()) {
  }
  CHECK(seen == std::vector{std::string(50, 'a'), std::string(50, 'b'), std::string(50, 'c')});
  CHECK(log.alive == 0);
  sync_wait(scope.join());
}
TEST_CASE("async_scope: spawn_future of a lambda, and of a function with arguments") {
  async_manual_reset_event event;
  async_scope scope;
  auto first = scope.spawn_future([text = std::string(50, 'a'), &event]() -> task<std::string> {
    co_await event;
    co_return text;
  });
  auto second =
      scope.spawn_future([](std::unique_ptr<int> n) -> task<std::unique_ptr<int>> { co_return std::move(n); },
                         std::make_unique<int>(4));
  event.set();
  CHECK(sync_wait(std::move(first)) == std::string(50, 'a'));
  CHECK(*sync_wait(std::move(second)) == 4);
  sync_wait(scope.join());
}
TEST_CASE("async_scope: where the copy of a function or an argument throws, nothing is spawned") {
  lifetimes log;
  int calls = 0;
  async_scope scope;
  {
    const lifetime_probe original{log};
    const auto named = [original, &calls]() -> task<> {
      ++calls;
      co_return;
    };
    const auto takes = [&calls](const lifetime_probe&) -> task<> {
      ++calls;
      co_return;
    };
    log.copies_until_throw = 0;
    CHECK_THROWS_AS(scope.spawn(named), copy_failed);
    CHECK_THROWS_AS(scope.spawn(takes, original), copy_failed);
    CHECK_THROWS_AS(static_cast<void>(scope.spawn_future(takes, original)), copy_failed);
    CHECK(log.alive == 2);
  }
  CHECK(calls == 0);
  sync_wait(scope.join());
}
TEST_CASE("async_scope: without memory for a spawned function nothing leaks" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  CHECK(fail_each_allocation([] {
          async_scope scope;
          bool failed = false;
          try {
            scope.spawn([](std::unique_ptr<int>) -> task<> { co_return; }, std::make_unique<int>(1));
          } catch (const std::bad_alloc&) {
            failed = true;
          }
          try {
            sync_wait(scope.join());
          } catch (const std::bad_alloc&) {
            CHECK(!failed);
          }
        }) >= 3);
}
TEST_CASE("async_scope: an exception of a spawned function, before it returns a task, is the child's") {
  async_scope scope;
  scope.spawn([]() -> task<> { throw std::runtime_error("no task"); });
  CHECK_THROWS_WITH_AS(sync_wait(scope.join()), "no task", std::runtime_error);
}
TEST_CASE("async_scope: a function takes no frame more than the task that it returns") {
  const auto count = [](auto spawn) {
    coracle::trim_frame_memory();
    async_scope scope;
    const std::size_t before = coracle::testing::allocations();
    spawn(scope);
    const std::size_t made = coracle::testing::allocations() - before;
    sync_wait(scope.join());
    return made;
  };
  const auto serve = [](int) -> task<> { co_return; };
  CHECK(count([&](async_scope& scope) { scope.spawn(serve, 1); }) ==
        count([&](async_scope& scope) { scope.spawn(serve(1)); }));
}

TEST_CASE("with_scope: keeps its body's arguments until the children have ended") {
  lifetimes log;
  async_manual_reset_event event;
  int seen = 0;
  const auto body = [&](async_scope& scope, const lifetime_probe& probe) -> task<int> {
    const auto look = [&]() -> task<> {
      co_await event;
      seen = probe.id();
    };
    scope.spawn(look);
    co_return 9;
  };
  {
    auto running = poll(coracle::with_scope(body, lifetime_probe{log, 7}));
    CHECK(!running.ready());
    CHECK(log.alive >= 1);
    event.set();
    REQUIRE(running.run());
    CHECK(running.get() == 9);
  }
  CHECK(seen == 7);
  CHECK(log.alive == 0);
}
}  // namespace
