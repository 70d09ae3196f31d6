// tests/unit/as_outcome_test.cpp -- the outcome of work as a value.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/poll.hpp>
#include <memory>
#include <stdexcept>

namespace {
using coracle::as_optional;
using coracle::as_outcome;
using coracle::async_manual_reset_event;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::sync_wait;
using coracle::task;
using coracle::with_stop;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle::testing::poll;

constexpr stop_reason reasons[] = {stop_reason::requested, stop_reason::timed_out, stop_reason::lost_race,
                                   stop_reason::sibling_failed, stop_reason::shutting_down};

task<int> give(int value) { co_return value; }
task<int> fail() {
  throw std::runtime_error("broken");
  co_return 0;
}
task<int> wait(lifetimes& log, const async_manual_reset_event& event) {
  const lifetime_probe local(log, 1);
  co_await event;
  co_return 5;
}

TEST_CASE("as_outcome: gives a value, or an error") {
  CHECK(sync_wait(as_outcome(give(3))).get() == 3);
  auto failed = sync_wait(as_outcome(fail()));
  CHECK(failed.has_error());
  CHECK_THROWS_AS(std::move(failed).get(), std::runtime_error);
}

TEST_CASE("as_outcome: says why an operation was stopped") {
  const async_manual_reset_event never;
  for (const stop_reason why : reasons) {
    stop_source source;
    auto waiting = poll(with_stop(as_outcome(never), source.get_token()));
    CHECK_FALSE(waiting.ready());
    source.request_stop(why);
    CHECK(waiting.run());
    CHECK(waiting.get().reason() == why);
  }
}

TEST_CASE("as_outcome: says why a task was stopped, whose locals are destroyed by then") {
  lifetimes log;
  const async_manual_reset_event never;
  stop_source source;
  auto waiting = poll(with_stop(as_outcome(wait(log, never)), source.get_token()));
  CHECK(log.alive == 1);
  source.request_stop(stop_reason::shutting_down);
  CHECK(waiting.run());
  CHECK(log.alive == 0);
  CHECK(waiting.get().reason() == stop_reason::shutting_down);
}

TEST_CASE("as_outcome: a stop request before the await is an outcome, too") {
  const async_manual_reset_event set{true};
  stop_source source;
  source.request_stop();
  CHECK(sync_wait(with_stop(as_outcome(set), source.get_token())).is_cancelled());
}

TEST_CASE("as_outcome: a stop request after the wait has ended has no effect") {
  lifetimes log;
  async_manual_reset_event event;
  stop_source source;
  auto waiting = poll(with_stop(as_outcome(wait(log, event)), source.get_token()));
  event.set();
  source.request_stop();
  CHECK(waiting.run());
  CHECK(waiting.get().get() == 5);
}

TEST_CASE("as_outcome: the coroutine goes on after work that was stopped") {
  lifetimes log;
  const async_manual_reset_event never;
  stop_source source;
  const auto go_on = [&]() -> task<int> {
    const auto end = co_await as_outcome(wait(log, never));
    co_return end.is_cancelled() ? 7 : 0;
  };
  auto waiting = poll(with_stop(go_on(), source.get_token()));
  source.request_stop();
  CHECK(waiting.run());
  CHECK(waiting.get() == 7);
}

TEST_CASE("as_outcome: of a function, of a reference, of a move-only value, and of a named task") {
  int number = 7;
  const auto refer = [&]() -> task<int&> { co_return number; };
  const auto own = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(4); };
  CHECK(&sync_wait(as_outcome(refer)).get() == &number);
  CHECK(*sync_wait(as_outcome(own())).get() == 4);
  auto named = refer();
  CHECK(&sync_wait(as_outcome(std::move(named))).get() == &number);
}

TEST_CASE("as_outcome: as a child of when_any it ends the race with an outcome, or loses it") {
  lifetimes log;
  const async_manual_reset_event never;
  const auto race = [&]() -> task<> {
    auto first = co_await coracle::when_any(as_outcome(wait(log, never)), give(1));
    CHECK(first.index() == 1);
    CHECK(log.alive == 0);
    auto second = co_await coracle::when_any(as_outcome(fail()), as_outcome(never));
    REQUIRE(second.index() == 0);
    CHECK(std::get<0>(second).has_error());
  };
  sync_wait(race());
}

TEST_CASE("as_optional: is empty if the work was stopped") {
  lifetimes log;
  const async_manual_reset_event never;
  stop_source source;
  auto waiting = poll(with_stop(as_optional(wait(log, never)), source.get_token()));
  source.request_stop();
  CHECK(waiting.run());
  CHECK_FALSE(waiting.get().has_value());
}

TEST_CASE("as_optional: gives the value, of void and of a reference too, and throws an error") {
  const async_manual_reset_event set{true};
  int number = 7;
  const auto refer = [&]() -> task<int&> { co_return number; };
  CHECK(sync_wait(as_optional(give(3))) == 3);
  CHECK(sync_wait(as_optional(set)).has_value());
  CHECK(&sync_wait(as_optional(refer))->get() == &number);
  CHECK_THROWS_AS(sync_wait(as_optional(fail())), std::runtime_error);
}
}  // namespace
