// tests/unit/stop_test.cpp -- stop requests, their tokens and their reasons.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/detail/linked_stop_source.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using coracle::stop_callback;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::stop_token;

static_assert(sizeof(stop_token) == sizeof(void*));
static_assert(std::is_nothrow_copy_constructible_v<stop_token>);
static_assert(!std::is_copy_constructible_v<stop_callback<void (*)()>>);

TEST_CASE("stop_token: an empty one is never requested and never will be") {
  const stop_token token;
  CHECK_FALSE(token.stop_requested());
  CHECK_FALSE(token.stop_possible());
  CHECK(token == stop_token());
}

TEST_CASE(
    "stop_source: a request reaches each token, however it was copied, and only the first request counts") {
  stop_source source;
  const stop_token token = source.get_token();
  const stop_token copy = token;
  const stop_source other = source;
  CHECK(token.stop_possible());
  CHECK_FALSE(copy.stop_requested());
  CHECK(source.request_stop());
  CHECK_FALSE(source.request_stop());
  CHECK(copy.stop_requested());
  CHECK(other.stop_requested());
  CHECK(other.get_token() == token);
}

TEST_CASE("stop_token: stop is not possible any more once the last source has gone") {
  std::optional<stop_source> first(std::in_place);
  const stop_token token = first->get_token();
  {
    const stop_source second = *first;
    first.reset();
    CHECK(token.stop_possible());
  }
  CHECK_FALSE(token.stop_possible());
  CHECK_FALSE(token.stop_requested());
}

TEST_CASE("stop_token: a request outlives its source") {
  std::optional<stop_source> source(std::in_place);
  const stop_token token = source->get_token();
  source->request_stop();
  source.reset();
  CHECK(token.stop_requested());
  CHECK(token.stop_possible());
}

TEST_CASE("stop_source: one that was moved from gives an empty token and refuses to request") {
  stop_source source;
  stop_source moved = std::move(source);
  CHECK_FALSE(source.request_stop());
  CHECK_FALSE(source.get_token().stop_possible());
  source = moved;
  CHECK(source == moved);
  CHECK(moved.request_stop());
  CHECK(source.stop_requested());
}

TEST_CASE("stop_token: one from a std::stop_token is requested with it") {
  std::stop_source source;
  const stop_token token = source.get_token();
  int calls = 0;
  const stop_callback callback{token, [&]() noexcept { ++calls; }};
  CHECK(token.stop_possible());
  CHECK_FALSE(token.stop_requested());
  source.request_stop();
  CHECK(token.stop_requested());
  CHECK(calls == 1);
  CHECK(stop_token(source.get_token()).stop_requested());
}

TEST_CASE("stop_token: one from a std::stop_token that cannot be requested is empty") {
  CHECK(stop_token(std::stop_token()) == stop_token());
  CHECK_FALSE(stop_token(std::stop_token()).stop_possible());
}

TEST_CASE("stop_token: one from a std::stop_token can be stopped as long as that can") {
  auto source = std::make_unique<std::stop_source>(), requested = std::make_unique<std::stop_source>();
  const stop_token token = source->get_token(), copy = token, stopped = requested->get_token();
  requested->request_stop();
  CHECK(token.stop_possible());
  source.reset();
  requested.reset();
  CHECK_FALSE(token.stop_possible());
  CHECK_FALSE(copy.stop_possible());
  CHECK_FALSE(token.stop_requested());
  CHECK(stopped.stop_possible());
  CHECK(stopped.stop_requested());
}

TEST_CASE("stop_token: its callback may drop the last token that follows a std::stop_token") {
  std::stop_source source;
  auto token = std::make_unique<stop_token>(source.get_token());
  const auto drop = [&]() noexcept { token.reset(); };
  std::optional<stop_callback<decltype(drop)>> callback;
  callback.emplace(*token, drop);
  source.request_stop();
  CHECK(token == nullptr);
  callback.reset();

  token = std::make_unique<stop_token>(source.get_token());
  CHECK(token->stop_requested());
}

TEST_CASE("stop_token: a std::stop_source follows one through a callback") {
  stop_source source;
  std::stop_source follower;
  const stop_callback relay{source.get_token(), [&]() noexcept { follower.request_stop(); }};
  source.request_stop();
  CHECK(follower.stop_requested());
}

TEST_CASE("stop_source: allocates once, tokens and callbacks not at all" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  coracle::trim_frame_memory();
  const std::size_t before = coracle::testing::allocations();
  stop_source source;
  const std::size_t made = coracle::testing::allocations();
  {
    const stop_token token = source.get_token();
    const stop_callback callback{token, []() noexcept {}};
    source.request_stop();
  }
  const std::size_t used = coracle::testing::allocations();
  CHECK(made - before == 1);
  CHECK(used - made == 0);
}

TEST_CASE("stop_source: failed allocations leave nothing behind" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  std::stop_source foreign;
  const int failed = coracle::testing::fail_each_allocation([&] {
    try {
      const stop_source source;
      const stop_token token = foreign.get_token();
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(failed == 2);
}

TEST_CASE("stop_reason: the first request gives it, tokens, the source and late callbacks see it") {
  stop_source source;
  const stop_token token = source.get_token();
  CHECK(token.reason() == stop_reason::none);
  CHECK(source.reason() == stop_reason::none);
  stop_reason seen = stop_reason::none;
  const stop_callback callback{token, [&]() noexcept { seen = token.reason(); }};
  CHECK(source.request_stop(stop_reason::timed_out));
  CHECK(seen == stop_reason::timed_out);
  CHECK_FALSE(source.request_stop(stop_reason::shutting_down));
  CHECK(token.reason() == stop_reason::timed_out);
  CHECK(source.reason() == stop_reason::timed_out);
}

TEST_CASE("stop_reason: is `requested` unless it is given, also from a std::stop_token") {
  stop_source source;
  source.request_stop();
  CHECK(source.reason() == stop_reason::requested);
  std::stop_source foreign;
  const stop_token token = foreign.get_token();
  foreign.request_stop();
  CHECK(token.reason() == stop_reason::requested);
  CHECK(stop_token().reason() == stop_reason::none);
  const stop_source moved = std::move(source);
  CHECK(source.reason() == stop_reason::none);  // NOLINT(bugprone-use-after-move)
}

TEST_CASE("stop_reason: a request for no reason ends the program and says so") {
  CHECK(coracle_test::abort_message([] { stop_source().request_stop(stop_reason::none); }) ==
        "coracle: a stop was requested with stop_reason::none: give the reason\n");
}

TEST_CASE("operation_cancelled: says what it is, and why") {
  CHECK(std::string(coracle::operation_cancelled().what()) == "operation cancelled");
  CHECK(coracle::operation_cancelled().reason() == stop_reason::requested);
  const auto what = [](stop_reason why) { return std::string(coracle::operation_cancelled(why).what()); };
  CHECK(what(stop_reason::requested) == "operation cancelled");
  CHECK(what(stop_reason::timed_out) == "operation cancelled: its deadline has passed");
  CHECK(what(stop_reason::lost_race) == "operation cancelled: another has won the race");
  CHECK(what(stop_reason::sibling_failed) == "operation cancelled: a sibling has failed");
  CHECK(what(stop_reason::shutting_down) == "operation cancelled: shutting down");
  CHECK(coracle::operation_cancelled(stop_reason::timed_out).reason() == stop_reason::timed_out);
}

TEST_CASE("stop_token: one that has followed a std::stop_token to its request leaves nothing behind" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  bool requested = false;
  const int failed = coracle::testing::fail_each_allocation([&] {
    try {
      std::stop_source foreign;
      const stop_token token = foreign.get_token();
      foreign.request_stop();
      requested = token.stop_requested();
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(requested);
  CHECK(failed > 0);
}

TEST_CASE("stop_source: a request leaves the thread as it was, and nests the wake-ups of its callbacks") {
  coracle::async_manual_reset_event event;
  stop_source source;
  const unsigned before = coracle::detail::this_thread().wakes_left;
  unsigned inside = before;
  const auto wait = [&]() -> coracle_test::detached {
    co_await event;
    inside = coracle::detail::this_thread().wakes_left;
  };
  wait();
  const stop_callback sets{source.get_token(), [&]() noexcept { event.set(); }};
  source.request_stop();
  CHECK(inside < before);
  CHECK(coracle::detail::this_thread().wakes_left == before);
}

TEST_CASE("stop_source: a copy of one that was moved from refuses to request, too") {
  stop_source source;
  const stop_source taken = std::move(source);
  stop_source copy = source;
  CHECK_FALSE(copy.request_stop());
  CHECK_FALSE(taken.stop_requested());
}
}  // namespace
