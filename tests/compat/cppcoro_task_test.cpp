// tests/compat/cppcoro_task_test.cpp -- cppcoro::task where it differs from coracle::task, and sync_wait.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <cppcoro/async_manual_reset_event.hpp>
#include <cppcoro/fmap.hpp>
#include <cppcoro/shared_task.hpp>
#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <memory>
#include <string>
#include <thread>

#include "../support/detached.hpp"
#include "../support/many.hpp"
#include "../support/run_on_stack.hpp"

namespace {
using cppcoro::sync_wait;
using cppcoro::task;

task<std::string> text(int& runs) {
  ++runs;
  co_return "text";
}
task<> fail_with(int error) {
  throw error;
  co_return;
}

TEST_CASE("cppcoro::task: a second await gives the same object and does not run the body again") {
  int runs = 0;
  auto body = [](int& count) -> task<> {
    task<std::string> t = text(count);
    std::string& first = co_await t;
    std::string& second = co_await t;
    CHECK(&first == &second);
    CHECK(t.is_ready());
    CHECK(co_await std::move(t) == "text");
  };
  sync_wait(body(runs));
  CHECK(runs == 1);
}

TEST_CASE("cppcoro::task: each await throws the exception of the body, when_ready() none of them") {
  auto body = []() -> task<> {
    task<> t = fail_with(7);
    co_await t.when_ready();
    CHECK(t.is_ready());
    CHECK_THROWS_AS(co_await t, int);
    CHECK_THROWS_AS(co_await std::move(t), int);
  };
  sync_wait(body());
}

TEST_CASE("cppcoro::task: an empty one is ready, and its await throws broken_promise") {
  task<int> t;
  CHECK(t.is_ready());
  CHECK_THROWS_AS(sync_wait(t), cppcoro::broken_promise);
  CHECK_THROWS_AS(sync_wait(std::move(t)), cppcoro::broken_promise);
  sync_wait(t.when_ready());
}

TEST_CASE("cppcoro::task: a move-only result can be looked at and then moved out") {
  auto make = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
  task<std::unique_ptr<int>> t = make();
  CHECK(*sync_wait(t) == 3);
  const std::unique_ptr<int> out = sync_wait(std::move(t));
  CHECK(*out == 3);
}

TEST_CASE("cppcoro::task: returns and takes what converts, const and reference types too") {
  int value = 1;
  auto constant = []() -> task<const int> { co_return 5; };
  auto reference = [&]() -> task<int&> { co_return value; };
  auto braces = []() -> task<std::string> { co_return {"ab"}; };
  CHECK(sync_wait(constant()) == 5);
  CHECK(&sync_wait(reference()) == &value);
  CHECK(sync_wait(braces()) == "ab");
}

TEST_CASE("cppcoro::task: destroyed before it starts or while it waits, it destroys its locals") {
  coracle::testing::lifetimes log;
  cppcoro::async_manual_reset_event event;
  auto body = [](coracle::testing::lifetime_probe, cppcoro::async_manual_reset_event& gate) -> task<> {
    co_await gate;
  };
  {
    const task<> never_started = body(coracle::testing::lifetime_probe(log), event);
  }
  CHECK(log.alive == 0);
  {
    task<> waits = body(coracle::testing::lifetime_probe(log), event);
    auto start = [](task<>& t) -> task<> { co_await t; };
    task<> parent = start(waits);
    coracle_test::run_detached(parent.when_ready());
    CHECK(log.alive == 1);
    event.set();
    CHECK(waits.is_ready());
  }
  CHECK(log.alive == 0);
}

TEST_CASE("cppcoro::task: awaits coracle's tasks, and is awaited by them") {
  auto inner = []() -> coracle::task<int> { co_return 20; };
  auto middle = [](auto make) -> task<int> { co_return co_await make() + 1; };
  auto outer = [](auto make, auto child) -> coracle::task<int> {
    task<int> t = make(child);
    const int twice = co_await t + co_await t;
    co_return twice;
  };
  CHECK(sync_wait(outer(middle, inner)) == 42);
}

TEST_CASE("cppcoro::task: a chain that completes at once uses constant stack") {
  constexpr int count = coracle_test::many(300'000);
  auto one = []() -> task<int> { co_return 1; };
  auto sum = [](auto next) -> task<int> {
    int total = 0;
    for (int i = 0; i != count; ++i) {
      task<int> t = next();
      total += co_await t;
    }
    co_return total;
  };
  int ended = 0;
  CHECK(coracle_test::run_on_stack(256 * 1024, [&] { ended = sync_wait(sum(one)); }));
  CHECK(ended == count);
}

TEST_CASE("cppcoro::make_task: turns any awaitable into a task that keeps its result") {
  int runs = 0;
  task<std::string> t = cppcoro::make_task(text(runs));
  CHECK(runs == 0);
  std::string& kept = sync_wait(t);
  CHECK(kept == "text");
  CHECK(&sync_wait(t) == &kept);
  CHECK(runs == 1);
}

TEST_CASE("cppcoro::make_task: called unqualified it is not ambiguous for coracle's types") {
  using cppcoro::make_task;
  const auto shared = [](int value) -> cppcoro::shared_task<int> { co_return value; };
  cppcoro::shared_task<int> one = shared(1);
  task<int&> made = make_task(one);
  CHECK(&sync_wait(made) == &sync_wait(one));
}

TEST_CASE("cppcoro::sync_wait: the function of an fmap runs where the awaitable completed") {
  cppcoro::static_thread_pool pool{1};
  auto hop = [](cppcoro::static_thread_pool& to) -> task<> { co_await to.schedule(); };
  std::thread::id ran_on;
  auto note = [&] { ran_on = std::this_thread::get_id(); };
  sync_wait(hop(pool) | cppcoro::fmap(note));
  CHECK(ran_on != std::this_thread::get_id());
}

TEST_CASE("cppcoro::task: inside a run_loop an event posts its waiters back to the loop") {
  coracle::run_loop loop;
  cppcoro::async_manual_reset_event event;
  bool done = false;
  auto body = [](cppcoro::async_manual_reset_event& gate, bool& end) -> task<> {
    co_await gate;
    end = true;
  };
  coracle_test::run_detached_on(loop, body(event, done));
  loop.run_pending();
  event.set();
  CHECK_FALSE(done);
  loop.run_pending();
  CHECK(done);
}
}  // namespace
