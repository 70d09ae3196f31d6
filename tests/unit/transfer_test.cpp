// tests/unit/transfer_test.cpp -- coroutines that transfer to each other, with the stack no deeper.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/task.hpp>
#include <coracle/core/transfer.hpp>
#include <utility>
#include <vector>

#include "../support/run_on_stack.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle_test::test_coroutine;

/// Suspends the awaiting coroutine and continues `target`.
struct continue_with {
  explicit continue_with(std::coroutine_handle<> next) noexcept : target(next) {}
  bool await_ready() const noexcept { return false; }
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept {
    return coracle::transfer_to(target);
  }
  void await_resume() const noexcept {}
  std::coroutine_handle<> target;
};

/// A type that does not use coracle: its set() resumes its only waiter by h.resume().
struct foreign_event {
  struct awaiter {
    explicit awaiter(foreign_event& its_event) noexcept : event(its_event) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const noexcept { event.waiting = h; }
    void await_resume() const noexcept {}
    foreign_event& event;
  };
  awaiter operator co_await() noexcept { return awaiter{*this}; }
  void set() { waiting.resume(); }
  std::coroutine_handle<> waiting;
};

test_coroutine log_twice(std::vector<int>& log, int first) {
  log.push_back(first);
  co_await std::suspend_always{};
  log.push_back(first + 1);
}

TEST_CASE("transfer: resume() runs a coroutine to its next suspension, and then to its end") {
  std::vector<int> log;
  test_coroutine one = log_twice(log, 1);
  coracle::resume(one.handle());
  CHECK(log == std::vector{1});
  CHECK_FALSE(one.done());
  coracle::resume(one.handle());
  CHECK(log == std::vector{1, 2});
  CHECK(one.done());
}

TEST_CASE("transfer: the target runs before resume() returns, and the one that transferred stays suspended") {
  std::vector<int> log;
  test_coroutine target = log_twice(log, 10);
  auto body = [](std::vector<int>& seen, std::coroutine_handle<> next) -> test_coroutine {
    seen.push_back(1);
    co_await continue_with(next);
    seen.push_back(2);
  };
  test_coroutine first = body(log, target.handle());
  first.resume();
  CHECK(log == std::vector{1, 10});
  CHECK_FALSE(first.done());
  first.resume();
  CHECK(log == std::vector{1, 10, 2});
  CHECK(first.done());
}

TEST_CASE("transfer: transfer_to() in plain code gives a handle that runs the target once when resumed") {
  std::vector<int> log;
  test_coroutine target = log_twice(log, 1);
  coracle::resume(coracle::transfer_to(target.handle()));
  CHECK(log == std::vector{1});
}

TEST_CASE("transfer: resume() inside a running coroutine returns before that coroutine goes on") {
  std::vector<int> log;
  test_coroutine last = log_twice(log, 20);
  auto inner_body = [](std::vector<int>& seen, std::coroutine_handle<> next) -> test_coroutine {
    seen.push_back(10);
    co_await continue_with(next);
  };
  test_coroutine inner = inner_body(log, last.handle());
  auto outer_body = [](std::vector<int>& seen, test_coroutine& nested,
                       std::coroutine_handle<> next) -> test_coroutine {
    seen.push_back(1);
    nested.resume();
    seen.push_back(2);
    co_await continue_with(next);
  };
  test_coroutine outer = outer_body(log, inner, last.handle());
  outer.resume();
  CHECK(log == std::vector{1, 10, 20, 2, 21});
}

coracle::task<> wait_and_log(foreign_event& event, std::vector<int>& log, int value) {
  co_await event;
  log.push_back(value);
}
test_coroutine parent_of_waiter(foreign_event& event, std::vector<int>& log, int value) {
  co_await wait_and_log(event, log, value);
  log.push_back(value + 1);
}

TEST_CASE(
    "transfer: foreign code that calls h.resume() outside any coroutine continues the parents at once") {
  std::vector<int> log;
  foreign_event event;
  test_coroutine parent = parent_of_waiter(event, log, 10);
  parent.resume();
  event.set();
  CHECK(parent.done());
  CHECK(log == std::vector{10, 11});
}

TEST_CASE("transfer: foreign code that calls h.resume() inside a running coroutine loses no continuation") {
  std::vector<int> log;
  foreign_event first, second, never;
  test_coroutine one = parent_of_waiter(first, log, 10), two = parent_of_waiter(second, log, 20);
  one.resume();
  two.resume();
  auto setter_body = [](foreign_event& a, foreign_event& b, foreign_event& c,
                        std::vector<int>& seen) -> test_coroutine {
    a.set();
    b.set();
    co_await wait_and_log(c, seen, 30);
  };
  test_coroutine setter = setter_body(first, second, never, log);
  setter.resume();
  CHECK(one.done());
  CHECK(two.done());
  CHECK_FALSE(setter.done());
  REQUIRE(never.waiting);
  coracle::resume(never.waiting);
  CHECK(setter.done());
  CHECK(log.size() == 5);
}

TEST_CASE("transfer: two continuations left to the same drain loop both run, in order") {
  std::vector<int> log;
  test_coroutine one = log_twice(log, 10), two = log_twice(log, 20);
  auto body = [](std::coroutine_handle<> a, std::coroutine_handle<> b) -> test_coroutine {
    coracle::detail::resume_on_return(a);
    coracle::detail::resume_on_return(b);
    co_return;
  };
  test_coroutine both = body(one.handle(), two.handle());
  both.resume();
  CHECK(log == std::vector{10, 20});
}

coracle::task<> child() { co_return; }

TEST_CASE("transfer: 100,000 awaits in a loop need no more than 128 KiB of stack") {
  bool finished = false;
  const bool ran = coracle_test::run_on_stack(128 * 1024, [&finished] {
    auto body = [](bool& done) -> test_coroutine {
      for (int i = 0; i != 100'000; ++i) co_await child();
      done = true;
    };
    test_coroutine loop = body(finished);
    loop.resume();
  });
  CHECK(ran);
  CHECK(finished);
}

coracle::task<int> depth(int levels) {
  int below = 0;
  if (levels != 0) below = co_await depth(levels - 1);
  co_return below + 1;
}

TEST_CASE("transfer: 20,000 coroutines that await one another need no more than 128 KiB of stack") {
  int found = 0;
  const bool ran = coracle_test::run_on_stack(128 * 1024, [&found] {
    auto body = [](int& levels) -> test_coroutine { levels = co_await depth(20'000); };
    test_coroutine root = body(found);
    root.resume();
  });
  CHECK(ran);
  CHECK(found == 20'001);
}

TEST_CASE(
    "transfer: an exception that leaves a coroutine comes out of resume(), and transfers go on working") {
  // It has no temporary with a destructor, which clang would call a second time with the frame.
  auto throwing = [](coracle::task<>& inner) -> test_coroutine {
    co_await inner.when_ready();
    throw 42;
  };
  coracle::task<> inner = child();
  test_coroutine broken = throwing(inner);
  CHECK_THROWS_AS(broken.resume(), int);
  test_coroutine healthy = coracle_test::started(child());
  CHECK(healthy.done());
}
}  // namespace
