// tests/unit/as_outcome_reasons_test.cpp -- the outcome of tasks that are stopped, as a value.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_expected.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/poll.hpp>
#include <stdexcept>
#include <utility>

#include "../support/abort_message.hpp"
#include "stopped_bodies.hpp"

namespace {
using coracle::as_optional;
using coracle::as_outcome;
using coracle::async_manual_reset_event;
using coracle::operation_cancelled;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::sync_wait;
using coracle::task;
using coracle::with_stop;
using coracle::testing::poll;
using coracle_test::stopped_bodies::innermost_first;
using coracle_test::stopped_bodies::trace;
using coracle_test::stopped_bodies::wait_below_named;

constexpr stop_reason reasons[] = {stop_reason::requested, stop_reason::timed_out, stop_reason::lost_race,
                                   stop_reason::sibling_failed, stop_reason::shutting_down};

TEST_CASE("as_outcome: gives a value, an error, or why the work was stopped") {
  async_manual_reset_event never;
  const auto give = []() -> task<int> { co_return 3; };
  const auto fail = []() -> task<int> {
    throw std::runtime_error("broken");
    co_return 0;
  };
  CHECK(sync_wait(as_outcome(give())).get() == 3);
  auto failed = sync_wait(as_outcome(fail()));
  CHECK(failed.has_error());
  CHECK_THROWS_AS(std::move(failed).get(), std::runtime_error);
  for (const stop_reason why : reasons) {
    stop_source source;
    auto waiting = poll(with_stop(as_outcome(never), source.get_token()));
    source.request_stop(why);
    CHECK(waiting.run());
    CHECK(waiting.get().reason() == why);
  }
}

TEST_CASE("as_outcome: of an lvalue, of a function, of a reference and of nothing") {
  async_manual_reset_event set{true};
  int number = 7;
  const auto refer = [&]() -> task<int&> { co_return number; };
  CHECK(sync_wait(as_outcome(set)).has_value());
  CHECK(&sync_wait(as_outcome(refer)).get() == &number);
  auto named = refer();
  CHECK(&sync_wait(as_outcome(std::move(named))).get() == &number);
}

TEST_CASE("as_optional: is empty if the work was stopped, and throws its error") {
  async_manual_reset_event never, set{true};
  stop_source source;
  auto waiting = poll(with_stop(as_optional(never), source.get_token()));
  source.request_stop();
  CHECK(waiting.run());
  CHECK_FALSE(waiting.get().has_value());
  CHECK(sync_wait(as_optional(set)).has_value());
  const auto fail = []() -> task<int> {
    throw std::runtime_error("broken");
    co_return 0;
  };
  CHECK_THROWS_AS(sync_wait(as_optional(fail())), std::runtime_error);
}

TEST_CASE("as_expected: gives a value, or why there is none") {
  async_manual_reset_event never;
  int number = 7;
  const auto give = []() -> task<int> { co_return 3; };
  const auto refer = [&]() -> task<int&> { co_return number; };
  const auto nothing = []() -> task<> { co_return; };
  const auto fail = []() -> task<int> {
    throw std::runtime_error("broken");
    co_return 0;
  };
  CHECK(sync_wait(coracle::as_expected(give())).value() == 3);
  CHECK(&sync_wait(coracle::as_expected(refer)).value().get() == &number);
  CHECK(sync_wait(coracle::as_expected(nothing())).has_value());
  const auto failed = sync_wait(coracle::as_expected(fail()));
  REQUIRE_FALSE(failed.has_value());
  CHECK_FALSE(failed.error().is_cancelled());
  CHECK(failed.error().error() != nullptr);
  CHECK_THROWS_AS(failed.error().rethrow(), std::runtime_error);
  trace t;
  stop_source source;
  auto waiting = poll(with_stop(coracle::as_expected(wait_below_named(t, never)), source.get_token()));
  source.request_stop(stop_reason::timed_out);
  CHECK(waiting.run());
  const auto stopped = waiting.get();
  REQUIRE_FALSE(stopped.has_value());
  CHECK(stopped.error().reason() == stop_reason::timed_out);
  CHECK(stopped.error().error() == nullptr);
  CHECK_THROWS_AS(stopped.error().rethrow(), operation_cancelled);
  CHECK(t.log.destroyed == innermost_first);
  CHECK(t.is_untouched());
  static_assert(noexcept(std::declval<decltype(as_outcome(give()))&>().await_resume()));
  static_assert(noexcept(std::declval<decltype(coracle::as_expected(give()))&>().await_resume()));
}

TEST_CASE("no_result: one without an error or a reason ends the program and says so") {
  CHECK(coracle_test::abort_message([] { static_cast<void>(coracle::no_result(std::exception_ptr{})); }) ==
        "coracle: a no_result was made of a null exception_ptr: pass an error or a stop_reason\n");
  CHECK(coracle_test::abort_message([] {
          static_cast<void>(coracle::no_result(coracle::stop_reason::none));
        }) == "coracle: a no_result was made of stop_reason::none: pass an error or a reason\n");
}
}  // namespace
