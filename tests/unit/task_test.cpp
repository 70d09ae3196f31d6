// tests/unit/task_test.cpp -- task: when it runs, its result, and where the awaiting coroutine resumes.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::sync_wait;
using coracle::task;
using coracle_test::test_coroutine;

task<> log_line(std::vector<int>& log, int line) {
  log.push_back(line);
  co_return;
}
task<> wait_for(async_manual_reset_event& event) { co_await event; }
task<int> answer() { co_return 42; }
task<int> fail_with(int error) {
  throw error;
  co_return 0;
}

TEST_CASE("task: the body does not start before it is awaited, and runs inside the co_await") {
  std::vector<int> log;
  auto body = [](std::vector<int>& lines) -> task<> {
    task<> child = log_line(lines, 2);
    lines.push_back(1);
    co_await std::move(child);
    lines.push_back(3);
    co_await log_line(lines, 4);
    lines.push_back(5);
  };
  task<> parent = body(log);
  CHECK(log.empty());
  CHECK_FALSE(parent.is_ready());
  sync_wait(std::move(parent));
  CHECK(log == std::vector{1, 2, 3, 4, 5});
}

TEST_CASE("task: one that suspends suspends its awaiter; when it goes on and ends, so does the awaiter") {
  async_manual_reset_event event;
  test_coroutine root = coracle_test::started(wait_for(event));
  CHECK_FALSE(root.done());
  event.set();
  CHECK(root.done());
}

TEST_CASE("task: gives a value, a move-only value and a const value") {
  auto number = [](int n) -> task<int> { co_return n; };
  auto owner = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  auto fixed = []() -> task<const std::string> { co_return "fixed"; };
  auto converted = []() -> task<std::string> { co_return "from a literal"; };
  CHECK(sync_wait(number(42)) == 42);
  CHECK(*sync_wait(owner()) == 7);
  CHECK(sync_wait(fixed()) == "fixed");
  CHECK(sync_wait(converted()) == "from a literal");
}

TEST_CASE("task: gives a reference to the object itself, lvalue, const or rvalue") {
  int object = 1;
  auto left = [](int& o) -> task<int&> { co_return o; };
  auto read_only = [](int& o) -> task<const int&> { co_return o; };
  auto right = [](int& o) -> task<int&&> { co_return std::move(o); };
  CHECK(&sync_wait(left(object)) == &object);
  CHECK(&sync_wait(read_only(object)) == &object);
  const auto look = [&]() -> task<> {
    int&& same = co_await right(object);
    CHECK(&same == &object);
  };
  sync_wait(look());
}

int forty() { return 40; }

TEST_CASE("task: gives a reference to a function") {
  auto choose = []() -> task<int (&)()> { co_return forty; };
  CHECK(sync_wait(choose())() == 40);
}

TEST_CASE("task: a value is moved into the result once and out of it once, and never copied") {
  coracle::testing::lifetimes log;
  auto make = [](coracle::testing::lifetimes& l) -> task<coracle::testing::lifetime_probe> {
    co_return coracle::testing::lifetime_probe(l, 1);
  };
  {
    const coracle::testing::lifetime_probe taken = sync_wait(make(log));
    CHECK(taken.id() == 1);
    CHECK(log.moves == 2);
    CHECK(log.copies == 0);
    CHECK(log.alive == 1);
  }
  CHECK(log.alive == 0);
}

[[gnu::noinline]] task<coracle::testing::lifetime_probe> through_levels(coracle::testing::lifetimes& log,
                                                                        int levels) {
  if (levels == 0) co_return coracle::testing::lifetime_probe(log, 1);
  coracle::testing::lifetime_probe result = co_await through_levels(log, levels - 1);
  co_return result;
}
TEST_CASE("task: on its way through many levels a value is moved twice in each, and never copied") {
  coracle::testing::lifetimes log;
  {
    const coracle::testing::lifetime_probe taken = sync_wait(through_levels(log, 10));
    CHECK(taken.id() == 1);
    CHECK(log.constructed == 1);
    CHECK(log.moves == 2 * 11);
    CHECK(log.copies == 0);
  }
  CHECK(log.alive == 0);
}

TEST_CASE("task: an exception that leaves the body is thrown from the co_await") {
  auto parent = []() -> task<int> {
    int caught = 0;
    try {
      co_await fail_with(5);
    } catch (int error) {
      caught = error;
    }
    co_return caught + co_await answer();
  };
  CHECK(sync_wait(parent()) == 47);
  CHECK_THROWS_AS(sync_wait(fail_with(1)), int);
}

TEST_CASE("task: an exception passes through a thousand awaits") {
  struct nest {
    static task<int> of(int levels) {
      int below = 0;
      if (levels == 0) throw std::string("bottom");
      below = co_await of(levels - 1);
      co_return below;
    }
  };
  CHECK_THROWS_AS(sync_wait(nest::of(1000)), std::string);
}

struct throws_at_end {
  throws_at_end() = default;
  throws_at_end(const throws_at_end&) = delete;
  ~throws_at_end() noexcept(false) { throw 13; }
};

TEST_CASE("task: an exception from a local's destructor after co_return takes the place of the value") {
  coracle::testing::lifetimes log;
  auto body = [](coracle::testing::lifetimes& l) -> task<coracle::testing::lifetime_probe> {
    const throws_at_end local;
    co_return coracle::testing::lifetime_probe(l, 1);
  };
  CHECK_THROWS_AS(sync_wait(body(log)), int);
  CHECK(log.alive == 0);
}

template <class Result>
Result return_twice(coracle::testing::lifetimes& log) {
  try {
    const throws_at_end local;
    co_return coracle::testing::lifetime_probe(log, 1);
  } catch (int) {
  }
  co_return coracle::testing::lifetime_probe(log, 2);
}

TEST_CASE_TEMPLATE("a second co_return, after a local's destructor threw, takes the place of the first",
                   Result, task<coracle::testing::lifetime_probe>,
                   coracle::shared_task<coracle::testing::lifetime_probe>) {
  coracle::testing::lifetimes log;
  CHECK(sync_wait(return_twice<Result>(log)).id() == 2);
  CHECK(log.alive == 0);
}

struct throws_if_converted {
  operator int() const { throw 13; }
};

TEST_CASE("task: a co_return whose conversion throws leaves the environment to what is awaited next") {
  auto body = []() -> task<int> {
    int caught = 0;
    try {
      co_return throws_if_converted();
    } catch (int value) {
      caught = value;
    }
    const coracle::stop_token token = co_await coracle::this_task::stop_token();
    co_return token.stop_possible() ? caught : 0;
  };
  coracle::stop_source source;
  CHECK(sync_wait(coracle::with_stop(body(), source.get_token())) == 13);
}

task<int> go_on_after_co_return() {
  try {
    const throws_at_end local;
    co_return 1;
  } catch (int) {
  }
  static_cast<void>(co_await coracle::this_task::stop_token());
  co_return 2;
}
TEST_CASE(
    "task: one that a local's destructor keeps from its end may not await, and ends the program with one "
    "line" *
    doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] { static_cast<void>(sync_wait(go_on_after_co_return())); }) ==
        "coracle: a task went on after `co_return value`: it caught what the destructor of a local threw "
        "then\n");
}

TEST_CASE("task: a result whose copy throws is an exception of the task") {
  coracle::testing::lifetimes log;
  const coracle::testing::lifetime_probe original(log, 1);
  log.copies_until_throw = 0;
  auto body = [](const coracle::testing::lifetime_probe& o) -> task<coracle::testing::lifetime_probe> {
    co_return o;
  };
  CHECK_THROWS_AS(sync_wait(body(original)), coracle::testing::copy_failed);
  CHECK(log.alive == 1);
}

TEST_CASE("task: when_ready() runs the body and throws nothing; the result is awaited later") {
  task<int> good = answer(), bad = fail_with(9);
  sync_wait(good.when_ready());
  sync_wait(bad.when_ready());
  CHECK(good.is_ready());
  CHECK(bad.is_ready());
  sync_wait(good.when_ready());
  CHECK(sync_wait(std::move(good)) == 42);
  CHECK_THROWS_AS(sync_wait(std::move(bad)), int);
}

struct counting_awaiter {
  counting_awaiter() = default;
  counting_awaiter(const counting_awaiter&) = delete;
  bool await_ready() noexcept { return ++calls == 0; }
  bool await_suspend(std::coroutine_handle<>) noexcept { return ++calls == 0; }
  int& await_resume() noexcept { return ++calls; }
  int calls = 0;
};
TEST_CASE("task: an awaiter that is an lvalue is awaited itself, not a copy of it") {
  counting_awaiter awaiter;
  auto body = [](counting_awaiter& a) -> task<int&> { co_return co_await a; };
  CHECK(&sync_wait(body(awaiter)) == &awaiter.calls);
  CHECK(awaiter.calls == 3);
}

TEST_CASE("make_task: awaits what it was given, and gives its result") {
  std::vector<task<int>> several;
  several.push_back(coracle::make_task(answer()));
  several.push_back(coracle::make_task(fail_with(3)));
  CHECK(sync_wait(std::move(several[0])) == 42);
  CHECK_THROWS_AS(sync_wait(std::move(several[1])), int);
  task<> nothing = coracle::make_task(std::suspend_never{});
  sync_wait(std::move(nothing));

  int object = 0;
  auto reference = [](int& o) -> task<int&> { co_return o; };
  CHECK(&sync_wait(coracle::make_task(reference(object))) == &object);
}

TEST_CASE("task: default constructed or moved from it is empty") {
  task<int> none;
  CHECK_FALSE(none);
  CHECK(none.is_ready());
  task<int> full = answer();
  CHECK(full);
  task<int> next(std::move(full));
  CHECK(next);
  CHECK_FALSE(full);
  none = std::move(next);
  CHECK(none);
  CHECK_FALSE(next);
  CHECK(sync_wait(std::move(none)) == 42);
}

TEST_CASE("task: swap exchanges two bodies; a move to itself keeps the body") {
  auto number = [](int n) -> task<int> { co_return n; };
  task<int> one = number(1), two = number(2);
  one.swap(two);
  task<int>& same = one;
  one = std::move(same);
  CHECK(one);
  CHECK(sync_wait(std::move(one)) == 2);
  CHECK(sync_wait(std::move(two)) == 1);
}

void take_and_drop(task<>) {}
TEST_CASE("task: one that is passed by value, and that nobody awaits, is destroyed once") {
  coracle::testing::lifetimes log;
  auto body = [](coracle::testing::lifetime_probe) -> task<> { co_return; };
  take_and_drop(body(coracle::testing::lifetime_probe(log, 1)));
  CHECK(log.alive == 0);
  auto named = body(coracle::testing::lifetime_probe(log, 2));
  take_and_drop(std::move(named));
  CHECK(log.alive == 0);
  CHECK_FALSE(named);
}

TEST_CASE("task: is as large as a pointer") {
  CHECK(sizeof(task<>) == sizeof(void*));
  CHECK(std::is_nothrow_move_constructible_v<task<>>);
  CHECK_FALSE(std::is_copy_constructible_v<task<>>);
}

TEST_CASE("task: its promise is two pointers, and the result if that is larger than one") {
  struct three_words {
    void* words[3];
  };
  CHECK(sizeof(task<>::promise_type) == 2 * sizeof(void*));
  CHECK(sizeof(task<int*>::promise_type) == 2 * sizeof(void*));
  CHECK(sizeof(task<int&>::promise_type) == 2 * sizeof(void*));
  CHECK(sizeof(task<three_words>::promise_type) == 5 * sizeof(void*));
}

TEST_CASE("task: the awaiter goes on on the thread that finished the body") {
  std::thread::id finisher, went_on;
  async_manual_reset_event event;
  auto body = [](async_manual_reset_event& e, std::thread::id& in_child,
                 std::thread::id& after) -> test_coroutine {
    auto child = [](async_manual_reset_event& inner, std::thread::id& id) -> task<> {
      co_await inner;
      id = std::this_thread::get_id();
    };
    co_await child(e, in_child);
    after = std::this_thread::get_id();
  };
  test_coroutine root = body(event, finisher, went_on);
  root.resume();
  std::thread setter([&event] { event.set(); });
  const std::thread::id expected = setter.get_id();
  setter.join();
  CHECK(finisher == expected);
  CHECK(went_on == expected);
}

TEST_CASE("task: a child that moves to a scheduler takes its awaiter there") {
  coracle::run_loop loop;
  coracle::executor *in_child = nullptr, *after = nullptr;
  auto body = [](coracle::run_loop& l, coracle::executor*& first,
                 coracle::executor*& second) -> test_coroutine {
    auto child = [](coracle::run_loop& place, coracle::executor*& seen) -> task<> {
      co_await place.schedule();
      seen = coracle::current_executor();
    };
    co_await child(l, first);
    second = coracle::current_executor();
  };
  test_coroutine root = body(loop, in_child, after);
  root.resume();
  CHECK(in_child == nullptr);
  CHECK(loop.run_one());
  CHECK(root.done());
  CHECK(in_child == &loop);
  CHECK(after == &loop);
}

TEST_CASE("task: sync_wait() of an empty one ends the program with one line") {
  const char* const expected =
      "coracle: an empty task was awaited: it was awaited before, moved from, or never held a coroutine\n";
  CHECK(coracle_test::abort_message([] { sync_wait(task<>()); }) == expected);
  CHECK(coracle_test::abort_message([] {
          task<> used = wait_for(*new async_manual_reset_event(true));
          [[maybe_unused]] const task<> taken(std::move(used));
          sync_wait(std::move(used));
        }) == expected);
  if constexpr (CORACLE_CHECKS()) {
    CHECK(coracle_test::abort_message([] { sync_wait(task<>().when_ready()); }) == expected);
  }
}

TEST_CASE("task: sync_wait() of one whose result was given ends the program with one line") {
  CHECK(coracle_test::abort_message([] {
          task<> once = wait_for(*new async_manual_reset_event(true));
          sync_wait(once.when_ready());
          sync_wait(std::move(once));
          sync_wait(once.when_ready());
          sync_wait(std::move(once));
        }) == "coracle: a task was awaited twice: its result has been moved out; a shared_task keeps it\n");
}
}  // namespace
