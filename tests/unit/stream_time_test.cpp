// tests/unit/stream_time_test.cpp -- throttle and timeout, on virtual time.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/channels/channel.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/buffered.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/stages.hpp>
#include <coracle/streams/time.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <vector>

#include "../support/detached.hpp"
#include "async_sources.hpp"

namespace {
namespace streams = coracle::streams;
using namespace std::chrono_literals;
using coracle::async_generator;
using coracle::task;
using coracle::testing::virtual_time_loop;
using coracle_test::async_sources::counting;
using coracle_test::async_sources::counting_asked;
using coracle_test::async_sources::ints;
using streams::buffered;
using streams::collect;
using streams::filter;
using streams::for_each;
using streams::map;
using streams::throttle;

/// Element i is available after `times[i]`.
async_generator<int> after(std::vector<std::chrono::milliseconds> times) {
  int i = 0;
  for (const auto each : times) {
    co_await coracle::sleep_for(each);
    co_yield i++;
  }
}
std::chrono::milliseconds since_start(virtual_time_loop& loop) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(loop.now() - virtual_time_loop::start);
}
/// The time at which each element arrived, in milliseconds from the start.
template <class Pipeline>
ints moments(virtual_time_loop& loop, Pipeline pipeline) {
  ints seen;
  const auto note = [&](int) { seen.push_back(static_cast<int>(since_start(loop).count())); };
  loop.run(std::move(pipeline) | for_each(note));
  return seen;
}

TEST_CASE("throttle: the first element comes at once, each other one an interval after the one before") {
  virtual_time_loop loop;
  CHECK(moments(loop, counting(0, 4) | throttle(100ms)) == ints{0, 100, 200, 300});
}

TEST_CASE(
    "throttle: an element is asked for an interval after the one before has come, and then comes when it is "
    "there") {
  virtual_time_loop loop;
  CHECK(moments(loop, after({0ms, 250ms, 10ms, 10ms}) | throttle(100ms)) == ints{0, 350, 460, 570});
}

TEST_CASE("throttle: what a stage before it drops does not count") {
  virtual_time_loop loop;
  const auto is_even = [](int n) { return n % 2 == 0; };
  CHECK(moments(loop, counting(0, 5) | filter(is_even) | throttle(10ms)) == ints{0, 10, 20});
}

TEST_CASE("throttle: the time that the consumer takes counts for the interval") {
  virtual_time_loop loop;
  ints seen;
  const auto work = [&](int) -> task<> {
    seen.push_back(static_cast<int>(since_start(loop).count()));
    co_await coracle::sleep_for(60ms);
  };
  loop.run(counting(0, 3) | throttle(100ms) | for_each(work));
  CHECK(seen == ints{0, 100, 200});
}

TEST_CASE("throttle: a stop request ends the sleep, and the element stays where it is") {
  virtual_time_loop loop;
  coracle::channel<int> numbers{2};
  REQUIRE(numbers.try_send(1));
  REQUIRE(numbers.try_send(2));
  coracle::stop_source source;
  bool cancelled = false;
  ints seen;
  const auto run = [&]() -> task<> {
    const auto see = [&seen](int n) { seen.push_back(n); };
    try {
      co_await (numbers | throttle(1h) | for_each(see));
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  coracle_test::run_detached_on(loop, coracle::with_stop(run(), source.get_token()));
  loop.run_pending();
  CHECK(seen == ints{1});
  source.request_stop();
  loop.run_pending();
  CHECK(cancelled);
  CHECK(numbers.try_recv() == 2);
}

TEST_CASE("streams::timeout_each: elements that come in time pass; one that does not ends the pipeline") {
  virtual_time_loop loop;
  CHECK(loop.run(after({10ms, 99ms, 0ms}) | streams::timeout_each(100ms) | collect()) == ints{0, 1, 2});
  ints seen;
  const auto see = [&](int n) { seen.push_back(n); };
  CHECK_THROWS_AS(loop.run(after({10ms, 200ms, 0ms}) | streams::timeout_each(100ms) | for_each(see)),
                  coracle::timed_out);
  CHECK(seen == ints{0});
  CHECK(since_start(loop) == 109ms + 110ms);
}

TEST_CASE("streams::timeout_each: what a stage before it drops takes of the same time") {
  virtual_time_loop loop;
  const auto is_last = [](int n) { return n == 3; };
  CHECK_THROWS_AS(
      loop.run(after({40ms, 40ms, 40ms, 40ms}) | filter(is_last) | streams::timeout_each(100ms) | collect()),
      coracle::timed_out);
  CHECK(since_start(loop) == 100ms);
}

TEST_CASE("streams::timeout_each: a source that never waits has to give an element in time, too") {
  virtual_time_loop loop;
  const auto drop = [&](int n) {
    if (n == 10) loop.advance(1s);
    return n == 1000;
  };
  int asked = 0;
  CHECK_THROWS_AS(loop.run(counting_asked(asked) | filter(drop) | streams::timeout_each(100ms) |
                           streams::take(1) | collect()),
                  coracle::timed_out);
  CHECK(asked == 11);
}

TEST_CASE("streams::timeout_each: the time that the consumer takes does not count") {
  virtual_time_loop loop;
  int elements = 0;
  const auto work = [&](int) -> task<> {
    ++elements;
    co_await coracle::sleep_for(1h);
  };
  loop.run(after({10ms, 10ms}) | streams::timeout_each(100ms) | for_each(work));
  CHECK(elements == 2);
}

TEST_CASE("streams::timeout_each: a stop request from outside stays a cancellation") {
  virtual_time_loop loop;
  CHECK_THROWS_AS(loop.run(coracle::stop_after(after({1h}) | streams::timeout_each(2h) | collect(), 10ms)),
                  coracle::operation_cancelled);
  CHECK(since_start(loop) == 10ms);
}

TEST_CASE(
    "streams::timeout_each: behind buffered it limits the wait for each result, and stops what is on its "
    "way") {
  virtual_time_loop loop;
  int stopped = 0;
  const auto work = [&](int n) -> task<int> {
    try {
      co_await coracle::throwing(coracle::sleep_for(n == 2 ? 1h : 10ms));
    } catch (const coracle::operation_cancelled&) {
      ++stopped;
      throw;
    }
    co_return n;
  };
  ints seen;
  const auto see = [&](int n) { seen.push_back(n); };
  CHECK_THROWS_AS(
      loop.run(counting(0, 4) | map(work) | buffered(4) | streams::timeout_each(1s) | for_each(see)),
      coracle::timed_out);
  CHECK(seen == ints{0, 1});
  CHECK(stopped == 1);
  CHECK(since_start(loop) == 1010ms);
}

TEST_CASE("buffered: elements that sleep do so at the same time") {
  virtual_time_loop loop;
  const auto work = [](int n) -> task<int> {
    co_await coracle::sleep_for(std::chrono::milliseconds(100 - 10 * n));
    co_return n;
  };
  CHECK(loop.run(counting(0, 4) | map(work) | buffered(2) | collect()) == ints{0, 1, 2, 3});
  CHECK(since_start(loop) == 180ms);
}
}  // namespace
