// tests/unit/stopped_quietly_test.cpp -- the waits that a stop request ends without a throw, each as a loser.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/single_flight.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <utility>
#include <vector>

#include "../support/counted_throws.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::sync_wait;
using coracle::task;
using coracle::when_any;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::counts_throws;
using coracle_test::throws_of;

task<int> give() { co_return 1; }

/// Awaits the result of `make()` with a local and a handler on the way, as a user's task does.
template <class Make>
task<> around(lifetimes& log, bool& handled, Make make) {
  const lifetime_probe local(log, 1);
  try {
    co_await make();
  } catch (...) {
    handled = true;
    throw;
  }
}
/// Returns how many exceptions it takes to end a task that awaits `make()` and loses a race to `winner()`.
template <class Make, class Winner>
task<> lose(Make make, Winner winner, lifetimes& log, bool& handled) {
  const auto first = co_await when_any(around(log, handled, std::move(make)), winner());
  CHECK(first.index() == 1);
}
template <class Make, class Winner = task<int> (*)()>
int throws_of_loser(Make make, Winner winner = &give) {
  lifetimes log;
  bool handled = false;
  const int thrown = throws_of([&] { sync_wait(lose(std::move(make), std::move(winner), log, handled)); });
  CHECK(log.destroyed == std::vector{1});
  CHECK(handled == (thrown != 0));
  return thrown;
}

TEST_CASE("stopped quietly: what throws is counted" * doctest::skip(!counts_throws)) {
  const auto one = [] {
    try {
      throw 1;
    } catch (...) {
    }
  };
  CHECK(throws_of(one) == 1);
  CHECK(throws_of([] {}) == 0);
}

TEST_CASE("stopped quietly: shared_task, one that runs and one that the loser has started" *
          doctest::skip(!counts_throws)) {
  async_manual_reset_event event;
  const auto body = [&]() -> coracle::shared_task<int> {
    co_await event;
    co_return 3;
  };
  coracle::shared_task<int> shared = body();
  CHECK(throws_of_loser([&] { return shared; }) == 0);
  CHECK(throws_of_loser([&] { return shared; }) == 0);
  CHECK(throws_of_loser([&] { return shared.when_ready(); }) == 0);
  CHECK_FALSE(shared.is_ready());
  event.set();
  CHECK(sync_wait(shared) == 3);
  // Stopped before it waits, also where it need not wait.
  coracle::shared_task<int> late = body();
  const auto stops_first = [&](auto awaited) -> task<> {
    coracle::stop_source source;
    source.request_stop(coracle::stop_reason::lost_race);
    co_await coracle::with_stop(coracle::as_outcome(std::move(awaited)), source.get_token());
  };
  const auto awaits = [&](coracle::shared_task<int> from) -> task<> { co_await from; };
  CHECK(throws_of([&] { sync_wait(stops_first(awaits(shared))); }) == 0);
  CHECK(throws_of([&] { sync_wait(stops_first(awaits(late))); }) == 0);
}

TEST_CASE("stopped quietly: single_flight, its last caller and one of several" *
          doctest::skip(!counts_throws)) {
  coracle::single_flight<int, int> flights;
  async_manual_reset_event event;
  lifetimes log;
  bool handled = false, landed = false;
  const auto work = [&]() -> task<int> {
    co_await around(log, handled, [&]() -> const async_manual_reset_event& { return event; });
    landed = true;
    co_return 3;
  };
  const auto call = [&] { return flights.run(1, work); };
  CHECK(throws_of_loser(call) == 0);
  CHECK(log.destroyed == std::vector{1});  // the work has been stopped as its caller was
  CHECK_FALSE(handled);
  CHECK(throws_of_loser([&] { return when_any(call(), call()); }) == 0);
  CHECK_FALSE(landed);
  CHECK_FALSE(handled);
}
}  // namespace
