// tests/unit/when_any_succeeds_test.cpp -- the first of several awaitables that completes with a value.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/channels/channel.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/poll.hpp>
#include <memory>
#include <vector>

#include "child_tasks.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::operation_cancelled;
using coracle::stop_reason;
using coracle::sync_wait;
using coracle::task;
using coracle::when_any_succeeds;
using coracle_test::after;
using coracle_test::fail;
using coracle_test::fail_after;
using coracle_test::give;
using coracle_test::nothing;

task<int> gives_up() {
  throw operation_cancelled(stop_reason::timed_out);
  co_return 0;
}
task<int> fail_when_stopped(async_manual_reset_event& event, stop_reason& seen) {
  try {
    co_await coracle::throwing(event);
  } catch (const operation_cancelled& cancelled) {
    seen = cancelled.reason();
  }
  throw std::runtime_error("a loser's");
}

TEST_CASE("when_any_succeeds: what fails or is cancelled leaves the race; the first value wins") {
  const auto first = sync_wait(when_any_succeeds(fail("a"), gives_up(), give(7), fail("not started")));
  CHECK(first.index() == 2);
  CHECK(std::get<2>(first) == 7);
}

TEST_CASE("when_any_succeeds: a failure stops nobody, a value stops the others, whose errors are dropped") {
  async_manual_reset_event fails, wins, never;
  stop_reason seen = stop_reason::none;
  const auto race = [&]() -> task<std::size_t> {
    const auto first = co_await when_any_succeeds(fail_when_stopped(never, seen), fail_after(fails, "a"),
                                                  after(wins, 8), never);
    co_return first.index();
  };
  auto polled = coracle::testing::poll(race());
  CHECK_FALSE(polled.run());
  fails.set();
  CHECK_FALSE(polled.run());
  CHECK(seen == stop_reason::none);
  wins.set();
  CHECK(polled.run());
  CHECK(polled.get() == 2);
  CHECK(seen == stop_reason::lost_race);
}

TEST_CASE("when_any_succeeds: once there is a value the rest is not started") {
  int started = 0;
  const auto child = [&]() -> task<> {
    ++started;
    co_return;
  };
  CHECK(sync_wait(when_any_succeeds(child(), child(), child())).index() == 0);
  CHECK(started == 1);
}

TEST_CASE("when_any_succeeds: an event that is set wins only in its turn, as what comes before it may") {
  async_manual_reset_event set{true};
  CHECK(sync_wait(when_any_succeeds(set, give(1))).index() == 0);
  CHECK(sync_wait(when_any_succeeds(give(1), set)).index() == 0);
}

TEST_CASE("when_any_succeeds: if none gives a value all errors are thrown, the first in time first") {
  async_manual_reset_event last;
  CHECK_THROWS_WITH_AS(static_cast<void>(sync_wait(when_any_succeeds(fail("only"), gives_up()))), "only",
                       std::runtime_error);
  const auto race = [&]() -> task<> {
    co_await when_any_succeeds(fail_after(last, "b"), fail("a"), gives_up());
  };
  auto polled = coracle::testing::poll(race());
  CHECK_FALSE(polled.run());
  last.set();
  CHECK(polled.run());
  CHECK_THROWS_WITH_AS(polled.get(), "2 errors: a; b", coracle::error_group);
}

TEST_CASE("when_any_succeeds: if all are cancelled, so is the race") {
  CHECK_THROWS_WITH_AS(static_cast<void>(sync_wait(when_any_succeeds(gives_up(), gives_up()))),
                       "operation cancelled: its deadline has passed", operation_cancelled);
}

TEST_CASE("when_any_succeeds: a send to a closed channel fails, and leaves the race to the others") {
  coracle::channel<int> closed{1}, open{1};
  closed.close();
  const auto first = sync_wait(when_any_succeeds(closed.send(1), open.send(2)));
  CHECK(first.index() == 1);
  CHECK(open.try_recv() == 2);
  CHECK_THROWS_AS(static_cast<void>(sync_wait(when_any_succeeds(closed.send(1), closed.send(2)))),
                  coracle::error_group);
}

TEST_CASE("when_any_succeeds: of a range it gives the index and the value, also of what cannot be copied") {
  std::vector<task<std::unique_ptr<int>>> all;
  const auto refuse = []() -> task<std::unique_ptr<int>> {
    throw std::runtime_error("refused");
    co_return nullptr;
  };
  all.push_back(refuse());
  all.push_back(give(std::make_unique<int>(3)));
  const auto first = sync_wait(when_any_succeeds(std::move(all)));
  CHECK(first.index == 1);
  CHECK(*first.value == 3);
}

TEST_CASE("when_any_succeeds: tasks without a result and references") {
  int there = 5;
  const auto refer = [&]() -> task<int&> { co_return there; };
  CHECK(sync_wait(when_any_succeeds(nothing(), refer())).index() == 0);
  const auto second = sync_wait(when_any_succeeds(fail("a"), refer()));
  CHECK(&std::get<1>(second).get() == &there);
}

TEST_CASE("when_any_succeeds: stopped before it starts nothing; stopped later all are joined") {
  coracle::stop_source source;
  async_manual_reset_event never;
  int started = 0;
  const auto child = [&]() -> task<> {
    ++started;
    co_await never;
  };
  const auto race = [&]() -> task<> { co_await when_any_succeeds(child(), child(), never); };
  auto polled = coracle::testing::poll(race());
  CHECK_FALSE(polled.run());
  polled.request_stop();
  CHECK(polled.run());
  CHECK_THROWS_AS(polled.get(), operation_cancelled);
  CHECK(started == 2);
  source.request_stop(stop_reason::shutting_down);
  CHECK_THROWS_WITH_AS(sync_wait(coracle::with_stop(race(), source.get_token())),
                       "operation cancelled: shutting down", operation_cancelled);
  CHECK(started == 2);
}

TEST_CASE("when_any_succeeds: an allocation that fails is thrown" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const int failed = coracle::testing::fail_each_allocation([] {
    try {
      std::vector<task<int>> all;
      all.push_back(give(1));
      all.push_back(fail("none"));
      const auto first = sync_wait(when_any_succeeds(std::move(all)));
      CHECK(first.value == 1);
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(failed > 2);
}
}  // namespace
