// tests/unit/stopped_losers_test.cpp -- children that are ended by what has started them, as losers of a
// race.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/time/async_finally.hpp>
#include <coracle/time/hedge.hpp>
#include <coracle/time/timeout.hpp>
#include <stdexcept>
#include <utility>

#include "stopped_bodies.hpp"

namespace {
using coracle::as_outcome;
using coracle::async_manual_reset_event;
using coracle::operation_cancelled;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::sync_wait;
using coracle::task;
using coracle::throwing;
using coracle::when_any;
using coracle::with_stop;
using coracle::testing::lifetime_probe;
using coracle::testing::poll;
using coracle_test::stopped_bodies::innermost_first;
using coracle_test::stopped_bodies::trace;
using coracle_test::stopped_bodies::wait_below_named;
using coracle_test::stopped_bodies::wait_in_task;

TEST_CASE("stopped task: losers, and the siblings of a failure, are destroyed where they wait") {
  using namespace std::chrono_literals;
  trace loser, sibling, attempted, in_scope, looped;
  async_manual_reset_event never;
  const auto give = []() -> task<int> { co_return 1; };
  const auto fail = []() -> task<> {
    throw std::runtime_error("broken");
    co_return;
  };
  CHECK(sync_wait(when_any(wait_below_named(loser, never), give())).index() == 1);
  CHECK(loser.log.destroyed == innermost_first);
  CHECK(loser.is_untouched());

  CHECK_THROWS_AS(sync_wait(coracle::when_all(wait_below_named(sibling, never), fail())), std::runtime_error);
  CHECK(sibling.log.destroyed == innermost_first);
  CHECK(sibling.is_untouched());

  const auto attempt = [&](unsigned n) -> task<int> {
    if (n == 0) co_return co_await wait_below_named(attempted, never);
    co_return 2;
  };
  CHECK(sync_wait(coracle::hedge(0s, attempt)) == 2);
  CHECK(attempted.log.destroyed == innermost_first);
  CHECK(attempted.is_untouched());

  const auto body = [&](coracle::async_scope& scope) -> task<> {
    scope.spawn(wait_below_named(in_scope, never));
    scope.spawn(fail());
    co_return;
  };
  CHECK_THROWS_AS(sync_wait(coracle::with_scope(body)), std::runtime_error);
  CHECK(in_scope.log.destroyed == innermost_first);
  CHECK(in_scope.is_untouched());

  const std::vector<int> numbers{1, 2};
  const auto one = [&](int n) -> task<> {
    if (n == 2) throw std::runtime_error("broken");
    co_await wait_below_named(looped, never);
  };
  CHECK_THROWS_AS(sync_wait(coracle::for_each_concurrent(numbers, 2, one)), std::runtime_error);
  CHECK(looped.log.destroyed == innermost_first);
  CHECK(looped.is_untouched());
}

TEST_CASE("stopped task: losers in via, resume_on and async_finally are destroyed where they wait") {
  using namespace std::chrono_literals;
  trace visits, returns, finally;
  async_manual_reset_event never;
  coracle::inline_scheduler place;
  const auto give = []() -> task<int> { co_return 1; };
  bool cleaned = false;
  const auto clean_up = [&]() -> task<> {
    CHECK(finally.log.destroyed == innermost_first);
    cleaned = true;
    co_return;
  };
  const auto visiting = [&]() -> task<int> {
    const lifetime_probe local(visits.log, 6);
    const int value = co_await coracle::via(wait_below_named(visits, never), place);
    visits.went_on = true;
    co_return value;
  };
  const auto returning = [&]() -> task<int> {
    const lifetime_probe local(returns.log, 6);
    const int value = co_await coracle::resume_on(wait_below_named(returns, never), place);
    returns.went_on = true;
    co_return value;
  };
  const auto cleaning = [&]() -> task<int> {
    const lifetime_probe local(finally.log, 6);
    const int value = co_await coracle::async_finally(wait_below_named(finally, never), clean_up, 1s);
    finally.went_on = true;
    co_return value;
  };
  CHECK(sync_wait(when_any(visiting(), returning(), cleaning(), give())).index() == 3);
  CHECK(cleaned);
  for (const trace* each : {&visits, &returns, &finally}) {
    CHECK(each->log.destroyed == std::vector{1, 2, 3, 4, 5, 6});
    CHECK(each->is_untouched());
  }
}

TEST_CASE("stopped task: a loser that asks for the exception runs its handlers") {
  trace t;
  async_manual_reset_event never;
  const auto give = []() -> task<int> { co_return 1; };
  CHECK(sync_wait(when_any(throwing(wait_below_named(t, never)), give())).index() == 1);
  CHECK(t.handled);
  CHECK(t.log.destroyed == innermost_first);
}

TEST_CASE("stopped task: what a race has not stopped itself sees an exception") {
  trace outside, deeper;
  async_manual_reset_event never;
  stop_source source;
  auto waiting = poll(with_stop(when_any(wait_below_named(outside, never), never), source.get_token()));
  source.request_stop();
  CHECK(waiting.run());
  CHECK_THROWS_AS(waiting.get(), operation_cancelled);
  CHECK(outside.handled);

  // The inner race is stopped by the outer one, below a coroutine that wants its handler run.
  const auto give = []() -> task<int> { co_return 1; };
  const auto inner = [&]() -> task<> { co_await throwing(when_any(wait_below_named(deeper, never), never)); };
  CHECK(sync_wait(when_any(inner(), give())).index() == 1);
  CHECK(deeper.handled);
}

TEST_CASE("stopped task: a loser that has been stopped by a request of its own sees an exception") {
  async_manual_reset_event never;
  stop_source own;
  bool handled = false;
  const auto loser = [&]() -> task<> {
    try {
      co_await with_stop(wait_in_task(never), own.get_token());  // the race cannot stop this
    } catch (const operation_cancelled& cancelled) {
      handled = cancelled.reason() == stop_reason::requested;
    }
  };
  const auto give = []() -> task<int> { co_return 1; };
  auto waiting = poll(when_any(loser(), give()));
  CHECK_FALSE(waiting.ready());
  own.request_stop();
  CHECK(waiting.run());
  CHECK(waiting.get().index() == 1);
  CHECK(handled);
}

TEST_CASE(
    "stopped task: handlers run where the result is still wanted: at a timeout, in a scope that is stopped") {
  trace plain, quiet, in_scope;
  async_manual_reset_event never;
  const auto limited = [&](trace& t) -> task<> {
    co_await coracle::timeout(wait_below_named(t, never), std::chrono::hours(0));
  };
  CHECK_THROWS_AS(sync_wait(limited(plain)), coracle::timed_out);
  CHECK(plain.handled);
  auto end = sync_wait(as_outcome(limited(quiet)));
  CHECK_THROWS_AS(std::move(end).get(), coracle::timed_out);
  CHECK(quiet.log.destroyed == innermost_first);
  CHECK(quiet.is_untouched());

  const auto body = [&](coracle::async_scope& scope) -> task<> {
    scope.spawn(wait_below_named(in_scope, never));
    scope.request_stop();
    co_return;
  };
  sync_wait(coracle::with_scope(body));
  CHECK(in_scope.handled);
}

TEST_CASE("stopped task: a mutex that it waits for is not locked") {
  coracle::async_mutex mutex;
  REQUIRE(mutex.try_lock());
  const auto lock = [&]() -> task<> { const auto held = co_await mutex.scoped_lock_async(); };
  stop_source source;
  auto waiting = poll(with_stop(as_outcome(lock()), source.get_token()));
  source.request_stop();
  CHECK(waiting.run());
  CHECK(waiting.get().is_cancelled());
  mutex.unlock();
  CHECK(mutex.try_lock());
  mutex.unlock();
}
}  // namespace
