// tests/unit/interval_test.cpp -- ticks: when they occur, and what happens to missed ones.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/interval.hpp>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::interval;
using coracle::missed_tick;
using coracle::sleep_for;
using coracle::task;
using coracle::testing::virtual_time_loop;
using times = std::vector<long long>;

long long ms(std::chrono::steady_clock::time_point time) { return (time - virtual_time_loop::start) / 1ms; }

/// Awaits a tick after each of these pauses, and records when each one occurred and when it was due.
struct rhythm {
  times came, due;
};
rhythm ticks_of(missed_tick after_late, std::vector<std::chrono::milliseconds> pauses) {
  virtual_time_loop loop;
  rhythm seen;
  const auto run = [&]() -> task<> {
    interval ticks{10ms, after_late};
    for (const auto pause : pauses) {
      co_await sleep_for(pause);
      const auto due = co_await ticks.tick();
      seen.due.push_back(ms(due));
      seen.came.push_back(ms(loop.now()));
    }
  };
  loop.run(run());
  return seen;
}

TEST_CASE("interval: the first tick comes as soon as it is awaited, the others a period apart") {
  const rhythm seen = ticks_of(missed_tick::burst, {5ms, 0ms, 0ms, 0ms});
  CHECK(seen.came == times{5, 15, 25, 35});
  CHECK(seen.due == seen.came);
}

TEST_CASE("interval: work between the ticks does not shift them, whatever the policy, if it is in time") {
  for (const auto policy : {missed_tick::burst, missed_tick::delay, missed_tick::skip}) {
    const rhythm seen = ticks_of(policy, {0ms, 3ms, 9ms, 10ms, 1ms});
    CHECK(seen.came == times{0, 10, 20, 30, 40});
    CHECK(seen.due == times{0, 10, 20, 30, 40});
  }
}

/// Awaits two ticks from plain code, and checks that they are a period apart on the clock of the executor.
template <class Run, class Now>
void check_ticks(Run run, Now now) {
  interval ticks{10ms, missed_tick::skip};
  const auto first = run(ticks.tick());
  CHECK(first == now());
  CHECK(run(ticks.tick()) == first + 10ms);
  CHECK(now() == first + 10ms);
}
TEST_CASE("interval: ticks that are run from plain code go by the executor's clock, too") {
  {
    virtual_time_loop loop;
    check_ticks([&](auto tick) { return loop.run(tick); }, [&] { return loop.now(); });
  }
  coracle::testing::simulation sim{1};
  check_ticks([&](auto tick) { return sim.run(tick); }, [&] { return sim.now(); });
  coracle::testing::simulated_network network{sim};
  coracle::testing::simulated_host host{network, "10.0.0.1"};
  check_ticks([&](auto tick) { return host.io().run(tick); }, [&] { return sim.now(); });
  coracle::testing::virtual_clock clock;
  coracle::testing::manual_scheduler place{clock};
  const auto polled = [&](auto tick) {
    auto waiting = coracle::testing::poll(place, tick);
    if (!waiting.ready()) clock.advance(10ms);
    CHECK(waiting.run());
    return waiting.get();
  };
  check_ticks(polled, [&] { return clock.now(); });
}

TEST_CASE("interval: a tick that is awaited twice comes twice, a period apart") {
  virtual_time_loop loop;
  times came;
  const auto run = [&]() -> task<> {
    interval ticks{10ms};
    const auto tick = ticks.tick();
    for (int i = 0; i != 3; ++i) {
      co_await tick;
      came.push_back(ms(loop.now()));
    }
  };
  loop.run(run());
  CHECK(came == times{0, 10, 20});
}

TEST_CASE("interval: a little late is late once: the rhythm holds, whatever the policy") {
  for (const auto policy : {missed_tick::burst, missed_tick::delay, missed_tick::skip}) {
    const rhythm seen = ticks_of(policy, {0ms, 14ms, 0ms, 0ms});
    CHECK(seen.came == times{0, 14, 20, 30});
    CHECK(seen.due == times{0, 10, 20, 30});
  }
}

TEST_CASE("interval: burst catches up with those that were missed") {
  const rhythm seen = ticks_of(missed_tick::burst, {0ms, 35ms, 0ms, 0ms, 0ms});
  CHECK(seen.came == times{0, 35, 35, 35, 40});
  CHECK(seen.due == times{0, 10, 20, 30, 40});
}

TEST_CASE("interval: delay goes on a full period after the late one") {
  const rhythm seen = ticks_of(missed_tick::delay, {0ms, 35ms, 0ms, 0ms});
  CHECK(seen.came == times{0, 35, 45, 55});
  CHECK(seen.due == times{0, 10, 45, 55});
}

TEST_CASE("interval: skip drops those that were missed and keeps the rhythm") {
  const rhythm seen = ticks_of(missed_tick::skip, {0ms, 35ms, 0ms, 0ms});
  CHECK(seen.came == times{0, 35, 40, 50});
  CHECK(seen.due == times{0, 10, 40, 50});
}

TEST_CASE("interval: skip on the very moment of a tick goes on with the one after it") {
  const rhythm seen = ticks_of(missed_tick::skip, {0ms, 30ms, 0ms});
  CHECK(seen.came == times{0, 30, 40});
}

TEST_CASE("interval: a cancelled tick is not used up") {
  virtual_time_loop loop;
  interval ticks{10ms};
  coracle::stop_source source;
  bool cancelled = false;
  const auto first = [&]() -> task<> {
    co_await ticks.tick();
    try {
      co_await ticks.tick();
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  const auto stop = [&]() -> task<> {
    co_await sleep_for(5ms);
    source.request_stop();
  };
  loop.run(coracle::when_all(coracle::with_stop(first(), source.get_token()), stop()));
  CHECK(cancelled);
  CHECK(ms(loop.now()) == 5);
  CHECK(ms(loop.run(ticks.tick())) == 10);
  CHECK(ms(loop.now()) == 10);
}

TEST_CASE("interval: a period that is too long for the clock gives one tick") {
  virtual_time_loop loop;
  interval ticks{std::chrono::hours::max(), missed_tick::skip};
  loop.run(ticks.tick());
  CHECK(ms(loop.now()) == 0);
}

TEST_CASE("interval: no period ends the program and says so") {
  CHECK(coracle_test::abort_message([] { interval ticks{0s}; }) ==
        "coracle: an interval was constructed with a period of 0 or less: it must be positive\n");
  CHECK(coracle_test::abort_message([] { interval ticks{-1s}; }) ==
        "coracle: an interval was constructed with a period of 0 or less: it must be positive\n");
}

static_assert(
    std::is_same_v<coracle::await_result_t<interval::tick_operation>, std::chrono::steady_clock::time_point>);
static_assert(sizeof(interval) == 24);
}  // namespace
