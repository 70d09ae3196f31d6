// tests/unit/stop_when_test.cpp -- a second stop token in addition to the inherited one.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/timeout.hpp>
#include <optional>
#include <thread>

#include "child_tasks.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::async_manual_reset_event;
using coracle::operation_cancelled;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::stop_when;
using coracle::task;
using coracle::with_stop;

/// The reason of the stop request, or none.
task<stop_reason> wait(async_manual_reset_event& event) {
  try {
    co_await event;
  } catch (const operation_cancelled& cancelled) {
    co_return cancelled.reason();
  }
  co_return stop_reason::none;
}

TEST_CASE("stop_when: either token stops it, for its reason, and the first decides") {
  for (const bool inner_first : {false, true}) {
    async_manual_reset_event never;
    stop_source inner, outer;
    auto waiting =
        coracle::testing::poll(with_stop(stop_when(wait(never), inner.get_token()), outer.get_token()));
    CHECK_FALSE(waiting.run());
    if (inner_first) inner.request_stop(stop_reason::timed_out);
    outer.request_stop(stop_reason::shutting_down);
    inner.request_stop(stop_reason::timed_out);
    CHECK(waiting.run());
    CHECK(waiting.get() == (inner_first ? stop_reason::timed_out : stop_reason::shutting_down));
  }
}

TEST_CASE("stop_when: a request before it is awaited, through either token, stops it at its first wait") {
  for (const bool of_inner : {false, true}) {
    async_manual_reset_event set{true};
    stop_source inner, outer;
    (of_inner ? inner : outer).request_stop(stop_reason::shutting_down);
    auto work = with_stop(stop_when(wait(set), inner.get_token()), outer.get_token());
    CHECK(coracle::sync_wait(std::move(work)) == stop_reason::shutting_down);
  }
}

TEST_CASE(
    "stop_when: it gives what is below: values, references, nothing, errors; an empty token asks for "
    "nothing") {
  int there = 5;
  const auto refer = [&]() -> task<int&> { co_return there; };
  CHECK(&coracle::sync_wait(stop_when(refer(), {})) == &there);
  coracle::sync_wait(stop_when(coracle_test::nothing(), {}));
  CHECK_THROWS_WITH_AS(static_cast<void>(coracle::sync_wait(stop_when(coracle_test::fail("a"), {}))), "a",
                       std::runtime_error);
  async_manual_reset_event set{true};
  coracle::sync_wait(stop_when(set, {}));
}

TEST_CASE("stop_when: a timeout around it goes on to hold, where one around with_stop() does not") {
  coracle::testing::virtual_time_loop loop;
  async_manual_reset_event never;
  stop_source other;
  const auto work = [&]() -> task<> {
    CHECK_THROWS_AS(co_await coracle::timeout(stop_when(never, other.get_token()), 1s), coracle::timed_out);
  };
  loop.run(work());
}

TEST_CASE("stop_when: both requests at the same time as the end") {
  for (int round = 0; round != 200; ++round) {
    async_manual_reset_event event;
    stop_source inner, outer;
    std::thread one{[&] { inner.request_stop(stop_reason::timed_out); }};
    std::thread other{[&] { outer.request_stop(stop_reason::shutting_down); }};
    std::thread setter{[&] { event.set(); }};
    static_cast<void>(
        coracle::sync_wait(with_stop(stop_when(wait(event), inner.get_token()), outer.get_token())));
    one.join();
    other.join();
    setter.join();
  }
}

TEST_CASE("stop_when: an allocation that fails is thrown" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  CHECK(coracle::testing::fail_each_allocation([] {
          try {
            coracle::sync_wait(stop_when(coracle_test::nothing(), {}));
          } catch (const std::bad_alloc&) {
          }
        }) == 2);  // two frames
}
}  // namespace
