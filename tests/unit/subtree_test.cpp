// tests/unit/subtree_test.cpp -- work below a stop source of its own ends before that source is destroyed.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/channels/channel.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/streams/buffered.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/stages.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>
#include <memory>
#include <optional>

namespace {
using namespace std::chrono_literals;
using coracle::async_manual_reset_event;
using coracle::operation_cancelled;
using coracle::stop_source;
using coracle::task;
using coracle::timed_out;
using coracle::when_all;

task<> wait(async_manual_reset_event& event) { co_await event; }

TEST_CASE("timeout: a when_all() and a when_any() directly below it") {
  coracle::testing::virtual_time_loop loop;
  async_manual_reset_event never;
  CHECK_THROWS_AS(loop.run(coracle::timeout(when_all(never, wait(never)), 1s)), timed_out);
  CHECK_THROWS_AS(loop.run(coracle::timeout(coracle::when_any(wait(never), never), 1s)), timed_out);
  CHECK_THROWS_AS(loop.run(coracle::stop_after(when_all(wait(never)), 1s)), operation_cancelled);
  CHECK_THROWS_AS(loop.run(coracle::timeout(when_all(when_all(never), wait(never)), 1s)), timed_out);
}

TEST_CASE("stop_when: a when_all() directly below it") {
  async_manual_reset_event never;
  stop_source source;
  auto waiting = coracle::testing::poll(coracle::stop_when(when_all(never, wait(never)), source.get_token()));
  CHECK_FALSE(waiting.run());
  source.request_stop();
  CHECK(waiting.run());
  CHECK_THROWS_AS(waiting.get(), operation_cancelled);
}

TEST_CASE("with_stop: a when_all() directly below it, that outlives the source") {
  async_manual_reset_event event;
  std::optional<stop_source> source{std::in_place};
  auto waiting =
      coracle::testing::poll(coracle::with_stop(when_all(event, wait(event)), source->get_token()));
  CHECK_FALSE(waiting.run());
  source.reset();
  event.set();
  CHECK(waiting.run());
  static_cast<void>(waiting.get());
}

TEST_CASE("timeout: a when_all() that has a name, and lives longer") {
  coracle::testing::virtual_time_loop loop;
  async_manual_reset_event never;
  const auto run = [&]() -> task<> {
    auto all = when_all(never, wait(never));
    auto first = coracle::when_any(never, wait(never));
    co_await coracle::timeout(all, 1s);
    co_await coracle::timeout(first, 1s);
  };
  CHECK_THROWS_AS(loop.run(run()), timed_out);
}

/// Whether a token that a child of `wrap(child)` has kept sees a request that comes once that has returned.
template <class Wrap>
bool sees_later_request(Wrap wrap) {
  stop_source source;
  coracle::stop_token kept;
  const auto child = [&]() -> task<> { kept = co_await coracle::this_task::stop_token(); };
  auto parent = [&]() -> task<> { co_await wrap(child()); };
  coracle::testing::virtual_time_loop loop;
  loop.run(coracle::with_stop(parent(), source.get_token()));
  REQUIRE_FALSE(kept.stop_requested());
  source.request_stop();
  return kept.stop_requested();
}

TEST_CASE("a token from below a combinator sees no request that comes after that has returned") {
  CHECK(sees_later_request([](task<> child) { return child; }));
  CHECK_FALSE(sees_later_request([](task<> child) { return when_all(std::move(child)); }));
  CHECK_FALSE(sees_later_request(
      [](task<> child) { return coracle::stop_when(std::move(child), coracle::stop_token()); }));
  CHECK_FALSE(sees_later_request([](task<> child) { return coracle::timeout(std::move(child), 1s); }));
}

TEST_CASE("timeout, stop_when, with_stop: destroyed while what is below waits") {
  coracle::io_service io;
  auto source = std::make_unique<stop_source>();
  const auto wait_for_long = [&]() -> task<> { co_await io.schedule_after(1h); };
  auto timed = coracle::testing::poll(coracle::timeout(wait_for_long(), 1h));
  auto stopped = coracle::testing::poll(coracle::stop_when(wait_for_long(), source->get_token()));
  auto obeying = coracle::testing::poll(coracle::with_stop(wait_for_long(), source->get_token()));
  source.reset();
  CHECK_FALSE(timed.run());
  CHECK_FALSE(stopped.run());
  CHECK_FALSE(obeying.run());
}

TEST_CASE("buffered: children that are a when_all(), and are not all taken") {
  coracle::testing::virtual_time_loop loop;
  const auto run = []() -> task<> {
    coracle::channel<int> numbers{8};
    for (int i = 0; i != 8; ++i) co_await numbers.send(i);
    const auto soon = [](int i) { return coracle::sleep_for(std::chrono::seconds{i}); };
    const auto both = [=](int i) { return when_all(soon(i), soon(0)); };
    int taken = 0;
    const auto count = [&](auto&&) { ++taken; };
    co_await (numbers | coracle::streams::map(both) | coracle::streams::buffered(3) |
              coracle::streams::take(2) | coracle::streams::for_each(count));
    CHECK(taken == 2);
  };
  loop.run(run());
}
}  // namespace
