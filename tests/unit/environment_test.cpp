// tests/unit/environment_test.cpp -- what every await passes down, and what it does not pass up.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/time/async_finally.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../support/test_coroutine.hpp"

namespace {
using coracle::shielded;
using coracle::sync_wait;
using coracle::task;
using coracle::task_local;
using coracle::with_stop;
using coracle::with_value;
using time_point = std::chrono::steady_clock::time_point;

task<coracle::stop_token> token() { co_return co_await coracle::this_task::stop_token(); }
task<time_point> deadline() { co_return co_await coracle::this_task::deadline(); }
task<int> value_of(const task_local<int>& local) { co_return co_await local.value(); }

/// Awaits `child` below the given number of tasks.
template <class T>
task<T> below(int levels, task<T> child) {
  if (levels == 0) co_return co_await std::move(child);
  co_return co_await below(levels - 1, std::move(child));
}

TEST_CASE("environment: under sync_wait it is empty: no stop, no deadline, the fallback of each local") {
  const task_local<int> local{7};
  CHECK_FALSE(sync_wait(token()).stop_possible());
  CHECK(sync_wait(deadline()) == time_point::max());
  CHECK(sync_wait(value_of(local)) == 7);
}

TEST_CASE("environment: below a coroutine that knows nothing of it it is empty too") {
  bool possible = true;
  auto body = [](bool& out) -> coracle_test::test_coroutine {
    const coracle::stop_token seen = co_await token();
    out = seen.stop_possible();
  };
  coracle_test::test_coroutine root = body(possible);
  root.resume();
  CHECK(root.done());
  CHECK_FALSE(possible);
}

TEST_CASE("with_stop: the token reaches every task below, and the stop request too") {
  coracle::stop_source source;
  CHECK(sync_wait(with_stop(token(), source.get_token())) == source.get_token());
  CHECK(sync_wait(with_stop(below(5, token()), source.get_token())) == source.get_token());
  auto asks = [](coracle::stop_source& s) -> task<int> {
    const coracle::stop_token own = co_await coracle::this_task::stop_token();
    const bool before = own.stop_requested();
    s.request_stop();
    co_return (before ? 10 : 0) + (own.stop_requested() ? 1 : 0);
  };
  CHECK(sync_wait(with_stop(asks(source), source.get_token())) == 1);
}

TEST_CASE("with_stop: an inner token replaces the outer one, for its own subtree only") {
  coracle::stop_source outer, inner;
  auto body = [](coracle::stop_token inside) -> task<std::vector<coracle::stop_token>> {
    std::vector<coracle::stop_token> seen;
    seen.push_back(co_await token());
    seen.push_back(co_await with_stop(token(), inside));
    seen.push_back(co_await token());
    co_return seen;
  };
  const std::vector<coracle::stop_token> seen =
      sync_wait(with_stop(body(inner.get_token()), outer.get_token()));
  CHECK(seen == std::vector{outer.get_token(), inner.get_token(), outer.get_token()});
}

TEST_CASE("with_stop: an lvalue is referred to, a temporary is kept") {
  coracle::stop_source source;
  coracle::async_manual_reset_event event;
  auto waiting = with_stop(event, source.get_token());
  event.set();
  sync_wait(std::move(waiting));
  source.request_stop();
  CHECK_THROWS_AS(sync_wait(with_stop(event, source.get_token())), coracle::operation_cancelled);
  auto kept = with_stop(token(), source.get_token());
  CHECK(sync_wait(std::move(kept)) == source.get_token());
}

TEST_CASE("this_task::throw_if_stopped: throws once stop is requested, with its reason") {
  coracle::stop_source source;
  auto computes = [](coracle::stop_source& stops) -> task<int> {
    int rounds = 0;
    try {
      for (;; ++rounds) {
        co_await coracle::this_task::throw_if_stopped();
        if (rounds == 3) stops.request_stop(coracle::stop_reason::shutting_down);
      }
    } catch (const coracle::operation_cancelled& cancelled) {
      if (cancelled.reason() != coracle::stop_reason::shutting_down) rounds = -1;
    }
    co_return rounds;
  };
  CHECK(sync_wait(with_stop(computes(source), source.get_token())) == 4);
}

TEST_CASE(
    "this_task::throw_if_stopped: does nothing where nobody can stop, nor below a coroutine without "
    "environment") {
  const auto asks = []() -> task<> { co_await coracle::this_task::throw_if_stopped(); };
  sync_wait(asks());
  auto body = []() -> coracle_test::test_coroutine { co_await coracle::this_task::throw_if_stopped(); };
  coracle_test::test_coroutine root = body();
  root.resume();
  CHECK(root.done());
}

TEST_CASE("shielded: what is below is out of reach of the stop request and the deadline, values stay bound") {
  coracle::stop_source source;
  source.request_stop();
  const task_local<int> local{0};
  coracle::async_manual_reset_event event{true};
  const auto inside = [&]() -> task<int> {
    const coracle::stop_token own = co_await token();
    if (own.stop_possible()) co_return -1;
    const time_point until = co_await deadline();
    if (until != time_point::max()) co_return -2;
    co_await event;
    co_return co_await local.value();
  };
  const auto outside = [&]() -> task<int> {
    const int shielded_value = co_await shielded(inside());
    const coracle::stop_token own = co_await token();
    co_return own.stop_requested() ? shielded_value : -3;
  };
  CHECK(sync_wait(with_stop(with_value(outside(), local, 5), source.get_token())) == 5);
}

TEST_CASE("shielded, with_stop, with_value: a want of memory there does not stop what is around them" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const task_local<int> local{7};
  bool stopped = false;
  const auto nothing = []() -> task<> { co_return; };
  const auto below = [&]() -> task<> {
    try {
      co_await shielded(nothing());
      co_await with_stop(nothing(), coracle::stop_token{});
      co_await with_value(nothing(), local, 1);
      co_await coracle::async_finally(nothing(), nothing, std::chrono::seconds{1});
    } catch (const std::bad_alloc&) {
    }
    try {
      co_await coracle::this_task::throw_if_stopped();
    } catch (const std::bad_alloc&) {
      stopped = true;
    }
  };
  const int failures = coracle::testing::fail_each_allocation([&] {
    try {
      sync_wait(coracle::when_all(below()));
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(failures >= 4);
  CHECK_FALSE(stopped);
}

TEST_CASE("shielded: a with_stop below it has its say again") {
  coracle::stop_source source;
  source.request_stop();
  coracle::async_manual_reset_event event{true};
  auto stopped = with_stop(event, source.get_token());
  CHECK_THROWS_AS(sync_wait(shielded(std::move(stopped))), coracle::operation_cancelled);
}

TEST_CASE("shielded: an lvalue is referred to") {
  coracle::stop_source source;
  source.request_stop();
  coracle::async_manual_reset_event event{true};
  const auto cleans_up = [&]() -> task<> { co_await shielded(event); };
  sync_wait(with_stop(cleans_up(), source.get_token()));
  CHECK(event.is_set());
}

TEST_CASE("with_value: a binding is seen at any depth, and an inner one hides the outer one") {
  const task_local<int> local{0};
  CHECK(sync_wait(with_value(below(5, value_of(local)), local, 1)) == 1);
  CHECK(sync_wait(with_value(with_value(value_of(local), local, 2), local, 1)) == 2);
  auto body = [](const task_local<int>& l) -> task<int> {
    const int first = co_await value_of(l);
    const int second = co_await with_value(value_of(l), l, 2);
    const int third = co_await value_of(l);
    co_return first * 100 + second * 10 + third;
  };
  CHECK(sync_wait(with_value(body(local), local, 1)) == 121);
  CHECK(sync_wait(body(local)) == 20);
}

TEST_CASE("with_value: a value whose class has an operator& of its own") {
  struct number {
    int value;
    void operator&() const = delete;
  };
  const task_local<number> local{number{0}};
  auto body = [](const task_local<number>& l) -> task<int> {
    const number& bound = co_await l.value();
    co_return bound.value;
  };
  CHECK(sync_wait(with_value(body(local), local, number{1})) == 1);
}

TEST_CASE("with_value: bindings of different locals do not hide one another") {
  const task_local<int> one{0};
  const task_local<int> two{0};
  const task_local<std::string> text{"none"};
  auto body = [](const task_local<int>& a, const task_local<int>& b,
                 const task_local<std::string>& c) -> task<std::string> {
    const int first = co_await a.value();
    const int second = co_await b.value();
    const std::string& third = co_await c.value();
    co_return std::to_string(first) + std::to_string(second) + third;
  };
  CHECK(sync_wait(with_value(with_value(body(one, two, text), one, 1), two, 2)) == "12none");
  CHECK(sync_wait(with_value(body(one, two, text), text, "some")) == "00some");
}

TEST_CASE("task_local: value() refers to the bound object, and to the fallback, without a copy") {
  const task_local<std::string> local{"fallback"};
  auto address = [](const task_local<std::string>& l) -> task<const std::string*> {
    const std::string& here = co_await l.value();
    co_return &here;
  };
  auto twice = [&address](const task_local<std::string>& l) -> task<bool> {
    const std::string* const first = co_await address(l);
    const std::string* const second = co_await address(l);
    co_return first == second;
  };
  CHECK(sync_wait(twice(local)));
  CHECK(sync_wait(with_value(twice(local), local, "bound")));
}

TEST_CASE("environment: stop and values stay when the other of them changes") {
  coracle::stop_source source;
  const task_local<int> local{0};
  auto body = [](const task_local<int>& l, coracle::stop_token expected) -> task<bool> {
    const coracle::stop_token seen = co_await token();
    const int bound = co_await l.value();
    co_return seen == expected&& bound == 3;
  };
  auto inside = with_value(body(local, source.get_token()), local, 3);
  CHECK(sync_wait(with_stop(std::move(inside), source.get_token())));
  auto outside = with_stop(body(local, source.get_token()), source.get_token());
  CHECK(sync_wait(with_value(std::move(outside), local, 3)));
}

TEST_CASE("environment: when_all passes it on to every child, and the stop request with its reason") {
  using coracle::stop_reason;
  coracle::stop_source source;
  const task_local<int> local{0};
  std::vector<stop_reason> seen;
  std::vector<int> bound;
  auto child = [&](bool stops) -> task<> {
    const coracle::stop_token own = co_await below(2, token());
    if (stops) source.request_stop(stop_reason::shutting_down);
    seen.push_back(own.reason());
    bound.push_back(co_await value_of(local));
  };
  auto both = coracle::when_all(child(false), child(true));
  sync_wait(with_stop(with_value(std::move(both), local, 4), source.get_token()));
  CHECK(seen == std::vector{stop_reason::none, stop_reason::shutting_down});
  CHECK(bound == std::vector{4, 4});
}

TEST_CASE("environment: make_task and when_ready pass it on") {
  coracle::stop_source source;
  CHECK(sync_wait(with_stop(coracle::make_task(token()), source.get_token())) == source.get_token());
  auto later = []() -> task<coracle::stop_token> {
    task<coracle::stop_token> child = token();
    co_await child.when_ready();
    co_return co_await std::move(child);
  };
  CHECK(sync_wait(with_stop(later(), source.get_token())) == source.get_token());
}

TEST_CASE("environment: a task inherits from whoever awaits it, not from where it was made") {
  coracle::stop_source source;
  task<coracle::stop_token> made_outside = token();
  auto body = [](task<coracle::stop_token> child) -> task<coracle::stop_token> {
    co_return co_await std::move(child);
  };
  CHECK(sync_wait(with_stop(body(std::move(made_outside)), source.get_token())) == source.get_token());
}

TEST_CASE("environment: stays with a task that goes on on another thread") {
  coracle::stop_source source;
  const task_local<int> local{0};
  coracle::async_manual_reset_event event;
  auto body = [](coracle::async_manual_reset_event& e, const task_local<int>& l,
                 coracle::stop_token expected) -> task<bool> {
    co_await e;
    const coracle::stop_token seen = co_await token();
    const int bound = co_await value_of(l);
    co_return seen == expected&& bound == 9;
  };
  std::thread other([&event] { event.set(); });
  auto child = with_value(body(event, local, source.get_token()), local, 9);
  const bool same = sync_wait(with_stop(std::move(child), source.get_token()));
  other.join();
  CHECK(same);
}

TEST_CASE("environment: an exception passes through the changes") {
  auto fails = []() -> task<> {
    throw 1;
    co_return;
  };
  const task_local<int> local{0};
  CHECK_THROWS_AS(sync_wait(with_stop(with_value(fails(), local, 1), coracle::stop_token())), int);
}

TEST_CASE("environment: any awaitable may be given one, and results keep their type") {
  int object = 0;
  auto reference = [](int& o) -> task<int&> { co_return o; };
  CHECK(&sync_wait(with_stop(reference(object), coracle::stop_token())) == &object);
  sync_wait(shielded(std::suspend_never{}));
}
}  // namespace
