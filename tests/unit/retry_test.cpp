// tests/unit/retry_test.cpp -- retries after failures, with delays.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/core/with_environment.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/retry.hpp>
#include <coracle/time/timeout.hpp>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/abort_message.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::retry;
using coracle::retry_policy;
using coracle::task;
using coracle::testing::virtual_time_loop;

/// A function that fails a given number of times, and the times of its calls.
struct flaky {
  virtual_time_loop& loop;
  int failures;
  std::vector<std::chrono::steady_clock::duration> calls{};

  auto attempt() {
    return [this]() -> task<int> {
      calls.push_back(loop.now() - virtual_time_loop::start);
      if (static_cast<int>(calls.size()) <= failures) {
        throw std::runtime_error("failure " + std::to_string(calls.size()));
      }
      co_return static_cast<int>(calls.size());
    };
  }
};

TEST_CASE("retry: one success needs one attempt") {
  virtual_time_loop loop;
  flaky server{loop, 0};
  CHECK(loop.run(retry({}, server.attempt())) == 1);
  CHECK(server.calls == std::vector<std::chrono::steady_clock::duration>{0ms});
}

TEST_CASE("retry: tries again until it succeeds, after delays within the bounds") {
  virtual_time_loop loop;
  flaky server{loop, 5};
  const retry_policy policy{.max_attempts = 6, .first_delay = 10ms, .max_delay = 40ms, .seed = 1};
  CHECK(loop.run(retry(policy, server.attempt())) == 6);
  const std::chrono::milliseconds most[] = {10ms, 20ms, 40ms, 40ms, 40ms};
  for (std::size_t i = 0; i != 5; ++i) {
    const auto delay = server.calls[i + 1] - server.calls[i];
    CHECK(delay >= 0ms);
    CHECK(delay <= most[i]);
  }
}

TEST_CASE("retry: throws the last error when there are no attempts left") {
  virtual_time_loop loop;
  flaky server{loop, 100};
  CHECK_THROWS_WITH_AS(loop.run(retry({.max_attempts = 4}, server.attempt())), "failure 4",
                       std::runtime_error);
  CHECK(server.calls.size() == 4);
}

TEST_CASE("retry: equal seeds give equal delays, others others, none unpredictable ones") {
  const auto calls = [](std::uint64_t seed) {
    virtual_time_loop loop;
    flaky server{loop, 4};
    loop.run(retry({.max_attempts = 5, .seed = seed}, server.attempt()));
    return server.calls;
  };
  CHECK(calls(7) == calls(7));
  CHECK(calls(7) != calls(8));
  CHECK(calls(0) != calls(0));
}

TEST_CASE("retry: the delays fill their range evenly") {
  constexpr int draws = 10'000, parts = 10;
  int found[parts] = {};
  for (int i = 0; i != draws; ++i) {
    coracle::detail::backoff delays{
        {.first_delay = std::chrono::nanoseconds{parts - 1}, .seed = static_cast<std::uint64_t>(i) + 1}};
    ++found[delays.next().count()];
  }
  for (const int each : found) {
    CHECK(each > 850);
    CHECK(each < 1150);
  }
}

TEST_CASE("retry: the longest delays do not overflow") {
  const auto forever = retry_policy::duration::max();
  coracle::detail::backoff delays{{.first_delay = forever, .max_delay = forever, .seed = 3}};
  for (int i = 0; i != 100; ++i) CHECK(delays.next() >= 0ns);
  coracle::detail::backoff doubled{{.first_delay = 1ns, .max_delay = forever, .seed = 3}};
  for (int i = 0; i != 100; ++i) CHECK(doubled.next() >= 0ns);
}

TEST_CASE("retry: no attempt begins after max_elapsed") {
  virtual_time_loop loop;
  flaky server{loop, 1000};
  const retry_policy policy{
      .max_attempts = 1000, .first_delay = 10ms, .max_delay = 10ms, .max_elapsed = 100ms, .seed = 1};
  CHECK_THROWS_AS(loop.run(retry(policy, server.attempt())), std::runtime_error);
  CHECK(server.calls.size() > 10);
  CHECK(server.calls.back() <= 100ms);
}

TEST_CASE("retry: only errors that the predicate accepts are retried") {
  virtual_time_loop loop;
  int calls = 0;
  const auto attempt = [&]() -> task<> {
    if (++calls == 1) throw std::runtime_error("again");
    throw std::logic_error("never");
    co_return;
  };
  const auto is_transient = [](const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::runtime_error&) {
      return true;
    } catch (...) {
      return false;
    }
  };
  CHECK_THROWS_WITH_AS(loop.run(retry({}, attempt, is_transient)), "never", std::logic_error);
  CHECK(calls == 2);
}

TEST_CASE("retry: a cancelled attempt is not retried, a timed out one is") {
  virtual_time_loop loop;
  int calls = 0;
  const auto cancelled = [&]() -> task<> {
    ++calls;
    throw coracle::operation_cancelled{};
    co_return;
  };
  CHECK_THROWS_AS(loop.run(retry({}, cancelled)), coracle::operation_cancelled);
  CHECK(calls == 1);
  const auto slow_once = [&] { return coracle::timeout(coracle::sleep_for(++calls == 2 ? 1s : 1ms), 10ms); };
  loop.run(retry({}, slow_once));
  CHECK(calls == 3);
}

TEST_CASE("retry: a stop request before, in an attempt or in a delay ends it at once") {
  virtual_time_loop loop;
  coracle::stop_source source;
  int calls = 0;
  const auto run = [&](auto attempt) {
    return loop.run(
        coracle::with_stop(retry({.max_attempts = 9, .first_delay = 1h, .max_delay = 1h, .seed = 1}, attempt),
                           source.get_token()));
  };
  const auto begin = loop.now();
  SUBCASE("before") {
    source.request_stop();
    const auto attempt = [&]() -> task<> {
      ++calls;
      co_return;
    };
    CHECK_THROWS_AS(run(attempt), coracle::operation_cancelled);
    CHECK(calls == 0);
  }
  SUBCASE("in an attempt that fails then") {
    const auto attempt = [&]() -> task<> {
      ++calls;
      source.request_stop();
      throw std::runtime_error("and failed");
      co_return;
    };
    CHECK_THROWS_AS(run(attempt), coracle::operation_cancelled);
    CHECK(calls == 1);
  }
  SUBCASE("in a delay") {
    const auto attempt = [&]() -> task<> {
      ++calls;
      throw std::runtime_error("failed");
      co_return;
    };
    const auto stop_later = [&]() -> task<> {
      try {
        co_await coracle::with_stop(retry({.first_delay = 1h, .max_delay = 1h, .seed = 1}, attempt),
                                    source.get_token());
      } catch (const coracle::operation_cancelled&) {
        calls += 100;
      }
    };
    auto body = stop_later();
    struct stopper : coracle::detail::timer {
      explicit stopper(coracle::stop_source& stopped) : timer(&fire_it), source(stopped) {}
      static void fire_it(timer& self) noexcept { static_cast<stopper&>(self).source.request_stop(); }
      coracle::stop_source& source;
    } at_one_second{source};
    loop.timers()->add(at_one_second, loop.now() + 1s);
    loop.run(std::move(body));
    CHECK(calls == 101);
    CHECK(loop.now() - begin == 1s);
  }
}

TEST_CASE("retry: void and move-only results") {
  virtual_time_loop loop;
  int calls = 0;
  const auto nothing = [&]() -> task<> {
    ++calls;
    co_return;
  };
  loop.run(retry({}, nothing));
  const auto owned = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
  CHECK(*loop.run(retry({}, owned)) == 3);
  CHECK(calls == 1);
}

TEST_CASE("retry: an attempt is not repeated because its result cannot be moved out") {
  struct heavy {
    explicit heavy(int& moves_left) : left(moves_left) {}
    heavy(heavy&& other) : left(other.left) {
      if (left-- == 0) throw std::runtime_error("no memory to move it");
    }
    int& left;
  };
  for (const int moves : {1, 2}) {  // the first one ends in the attempt's own frame
    virtual_time_loop loop;
    int calls = 0, moves_left = moves;
    const auto attempt = [&]() -> task<heavy> {
      ++calls;
      co_return heavy{moves_left};
    };
    CHECK_THROWS_WITH_AS(loop.run(retry({}, attempt)), "no memory to move it", std::runtime_error);
    CHECK(calls == 1);
  }
}

TEST_CASE("retry: a policy without attempts ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          virtual_time_loop loop;
          const auto nothing = []() -> task<> { co_return; };
          loop.run(retry({.max_attempts = 0}, nothing));
        }) == "coracle: a retry_policy with max_attempts of 0: allow at least one\n");
}
}  // namespace
