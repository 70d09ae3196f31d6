// tests/unit/task_lifetime_test.cpp -- parameters and locals of a task: made once, destroyed once, in order.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <vector>

#include "../support/run_on_stack.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::task;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::test_coroutine;

// The language does not say in which order parameters are destroyed, and g++ and clang differ.

/// Holds two parameters and two locals while it waits.
task<> hold(lifetimes& log, lifetime_probe, lifetime_probe) {
  const lifetime_probe first(log, 3);
  const lifetime_probe second(log, 4);
  co_await std::suspend_always{};
}

TEST_CASE("task lifetime: destroyed before it starts, each parameter is destroyed once") {
  lifetimes log;
  {
    [[maybe_unused]] const task<> unstarted = hold(log, lifetime_probe(log, 1), lifetime_probe(log, 2));
    CHECK(log.alive == 2);
  }
  CHECK(log.alive == 0);
  CHECK(log.copies == 0);
  std::sort(log.destroyed.begin(), log.destroyed.end());
  CHECK(log.destroyed == std::vector{1, 2});
}

TEST_CASE("task lifetime: destroyed while suspended, the locals go first, then the parameters") {
  lifetimes log;
  {
    test_coroutine root = coracle_test::started(hold(log, lifetime_probe(log, 1), lifetime_probe(log, 2)));
    CHECK_FALSE(root.done());
    CHECK(log.alive == 4);
    CHECK(log.destroyed.empty());
  }
  CHECK(log.alive == 0);
  REQUIRE(log.destroyed.size() == 4);
  std::sort(log.destroyed.begin() + 2, log.destroyed.end());
  CHECK(log.destroyed == std::vector{4, 3, 1, 2});
}

TEST_CASE("task lifetime: at the end of the body the locals are destroyed; the parameters with the task") {
  lifetimes log;
  auto body = [](lifetimes& l, lifetime_probe) -> task<> {
    const lifetime_probe local(l, 2);
    co_return;
  };
  {
    task<> one = body(log, lifetime_probe(log, 1));
    coracle::sync_wait(one.when_ready());
    CHECK(log.destroyed == std::vector{2});
  }
  CHECK(log.alive == 0);
  CHECK(log.destroyed == std::vector{2, 1});
}

TEST_CASE("task lifetime: after an exception everything is destroyed once, in order") {
  lifetimes log;
  auto body = [](lifetimes& l, lifetime_probe) -> task<int> {
    const lifetime_probe local(l, 2);
    if (l.alive != 0) throw 1;
    co_return 0;
  };
  CHECK_THROWS_AS(coracle::sync_wait(body(log, lifetime_probe(log, 1))), int);
  CHECK(log.alive == 0);
  CHECK(log.destroyed == std::vector{2, 1});
}

TEST_CASE(
    "task lifetime: an exception that nobody takes is destroyed with the task, below a stop token too") {
  lifetimes log;
  auto body = [](lifetimes& l) -> task<> {
    throw lifetime_probe(l, 1);
    co_return;
  };
  auto root = [&log, body](bool& alive) -> task<> {
    const task<> fails = body(log);
    co_await fails.when_ready();
    alive = log.alive == 1;
  };
  const coracle::stop_source source;
  bool alive = false;
  coracle::sync_wait(coracle::with_stop(root(alive), source.get_token()));
  CHECK(alive);
  CHECK(log.alive == 0);
}

TEST_CASE("task lifetime: a result that nobody takes is destroyed with the task") {
  lifetimes log;
  auto body = [](lifetimes& l) -> task<lifetime_probe> { co_return lifetime_probe(l, 1); };
  {
    task<lifetime_probe> one = body(log);
    coracle::sync_wait(one.when_ready());
    CHECK(log.alive == 1);
  }
  CHECK(log.alive == 0);
}

TEST_CASE("task lifetime: a parameter is moved into the frame once, one by reference not at all") {
  lifetimes log;
  auto body = [](lifetime_probe by_value, const lifetime_probe& by_reference) -> task<int> {
    co_return by_value.id() * 10 + by_reference.id();
  };
  lifetime_probe first(log, 1);
  const lifetime_probe second(log, 2);
  {
    task<int> one = body(std::move(first), second);
    CHECK(log.moves == 2);  // into the parameter, and on into the frame
    CHECK(coracle::sync_wait(std::move(one)) == 12);
  }
  CHECK(log.moves == 2);
  CHECK(log.copies == 0);
  CHECK(log.alive == 2);
}

/// Its move can be made to throw, as a move that copies would.
struct throwing_parameter {
  explicit throwing_parameter(lifetimes& log, int id) : probe(log, id) {}
  throwing_parameter(const throwing_parameter& other) : probe(other.probe) {}
  lifetime_probe probe;
};

TEST_CASE("task lifetime: a parameter whose copy into the frame throws leaves nothing behind") {
  lifetimes log;
  auto body = [](lifetime_probe, throwing_parameter, throwing_parameter) -> task<> { co_return; };
  for (int copies = 0; copies != 2; ++copies) {
    log.copies_until_throw = copies;
    CHECK_THROWS_AS(static_cast<void>(
                        body(lifetime_probe(log, 1), throwing_parameter(log, 2), throwing_parameter(log, 3))),
                    coracle::testing::copy_failed);
    CHECK(log.alive == 0);
  }
}

TEST_CASE("task lifetime: assignment destroys the body that was there") {
  lifetimes log;
  task<> one = hold(log, lifetime_probe(log, 1), lifetime_probe(log, 2));
  one = task<>();
  CHECK(log.alive == 0);
  CHECK_FALSE(one);
}

TEST_CASE("task lifetime: a body that was awaited directly is destroyed before the awaiter's next line") {
  lifetimes log;
  auto child = [](lifetime_probe) -> task<> { co_return; };
  auto parent = [&child](lifetimes& l) -> task<int> {
    co_await child(lifetime_probe(l, 1));
    co_return l.alive;
  };
  CHECK(coracle::sync_wait(parent(log)) == 0);
}

TEST_CASE("task lifetime: one may be moved while it is awaited, by a vector that grows or by its own body") {
  std::vector<task<int>> jobs;
  auto gives_two = []() -> task<int> { co_return 2; };
  auto add_one = [&gives_two](std::vector<task<int>>& all) -> task<int> {
    all.push_back(gives_two());
    co_return 1;
  };
  auto run_all = [](std::vector<task<int>>& all) -> task<int> {
    int sum = 0;
    for (std::size_t i = 0; i != all.size(); ++i) sum += co_await std::move(all[i]);
    co_return sum;
  };
  jobs.push_back(add_one(jobs));
  jobs.shrink_to_fit();
  CHECK(coracle::sync_wait(run_all(jobs)) == 3);

  task<int> home, taken;
  auto moves_itself = [](task<int>& from, task<int>& to) -> task<int> {
    to = std::move(from);
    co_return 5;
  };
  auto await_home = [](task<int>& from) -> task<int> { co_return co_await std::move(from); };
  home = moves_itself(home, taken);
  CHECK(coracle::sync_wait(await_home(home)) == 5);
}

task<> nested(int levels, lifetimes& log) {
  const lifetime_probe local(log, levels);
  if (levels != 0) {
    co_await nested(levels - 1, log);
  } else {
    co_await std::suspend_always{};
  }
}

TEST_CASE("task lifetime: a suspended chain is destroyed from the leaf up to the root") {
  lifetimes log;
  {
    test_coroutine root = coracle_test::started(nested(3, log));
    CHECK(log.alive == 4);
  }
  CHECK(log.alive == 0);
  CHECK(log.destroyed == std::vector{0, 1, 2, 3});
}

TEST_CASE("task lifetime: a suspended chain of 3,000 tasks is destroyed on a stack of 8 MiB") {
  lifetimes log;
  int alive = 0;
  const bool ran = coracle_test::run_on_stack(8 * 1024 * 1024, [&] {
    test_coroutine root = coracle_test::started(nested(2'999, log));
    alive = log.alive;
  });
  CHECK(ran);
  CHECK(alive == 3'000);
  CHECK(log.alive == 0);
}
}  // namespace
