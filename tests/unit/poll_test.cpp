// tests/unit/poll_test.cpp -- awaitables that plain code starts, and advances step by step.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/channels/channel.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/time/sleep.hpp>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "../support/abort_message.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::task;
using coracle::testing::manual_scheduler;
using coracle::testing::poll;

task<int> after(coracle::async_manual_reset_event& event, int value) {
  co_await event;
  co_return value;
}

TEST_CASE("poll: what need not wait is ready at once") {
  const auto answer = []() -> task<int> { co_return 42; };
  auto polled = poll(answer());
  CHECK(polled.ready());
  CHECK_FALSE(polled.woken());
  CHECK_FALSE(polled.step());
  CHECK(polled.get() == 42);

  coracle::async_manual_reset_event set{true};
  auto also = poll(set);  // its await_ready() is true
  CHECK(also.ready());
  also.get();
}

TEST_CASE("poll: who is woken goes on in the next step, and not before") {
  coracle::async_manual_reset_event event;
  auto polled = poll(after(event, 7));
  CHECK_FALSE(polled.ready());
  CHECK_FALSE(polled.woken());
  CHECK_FALSE(polled.run());
  event.set();
  CHECK_FALSE(polled.ready());
  CHECK(polled.woken());
  CHECK(polled.step());
  CHECK(polled.ready());
  CHECK(polled.get() == 7);
}

TEST_CASE("poll: an awaiter is polled itself, without a coroutine") {
  coracle::async_manual_reset_event event;
  auto polled = poll(event);
  CHECK_FALSE(polled.ready());
  event.set();
  CHECK_FALSE(polled.ready());
  CHECK(polled.run());
  polled.get();
}

TEST_CASE("poll: run() goes on through all that can run, step() through one part of it") {
  const auto twice = [](manual_scheduler*& place) -> task<int> {
    place = static_cast<manual_scheduler*>(coracle::current_executor());
    co_await place->schedule();
    co_await place->schedule();
    co_return 2;
  };
  manual_scheduler* place = nullptr;
  auto steps = poll(twice(place));
  CHECK(place == &steps.place());
  CHECK(steps.step());
  CHECK_FALSE(steps.ready());
  CHECK(steps.step());
  CHECK(steps.ready());
  CHECK(steps.get() == 2);
  auto all = poll(twice(place));
  CHECK(all.run());
  CHECK(all.get() == 2);
}

TEST_CASE("poll: the result may be a reference, nothing, or move-only") {
  int number = 1;
  const auto reference = [&]() -> task<int&> { co_return number; };
  const auto pointer = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
  CHECK(&poll(reference()).get() == &number);
  CHECK(*poll(pointer()).get() == 3);
  static_assert(std::is_void_v<decltype(poll(coracle::this_task::yield()).get())>);
}

TEST_CASE("poll: get() throws what the awaitable throws") {
  const auto fails = []() -> task<> {
    co_await coracle::this_task::yield();
    throw std::runtime_error("no");
  };
  auto polled = poll(fails());
  CHECK(polled.run());
  CHECK_THROWS_WITH_AS(polled.get(), "no", std::runtime_error);
}

TEST_CASE("poll: request_stop() reaches what waits, which is cancelled in the next step") {
  coracle::async_manual_reset_event event;
  auto polled = poll(after(event, 1));
  polled.request_stop();
  CHECK_FALSE(polled.ready());
  CHECK(polled.run());
  CHECK_THROWS_AS(polled.get(), coracle::operation_cancelled);
  event.set();  // nobody waits any more
}

TEST_CASE("poll: several on one place go on in the order that the test picks") {
  manual_scheduler place;
  coracle::async_manual_reset_event event;
  auto first = poll(place, after(event, 1));
  auto second = poll(place, after(event, 2));
  event.set();
  place.run(1);
  CHECK_FALSE(first.ready());
  CHECK(second.ready());
  CHECK(first.run());
  CHECK(first.get() + second.get() == 3);
}

TEST_CASE("poll: a sleep goes by the clock of the place") {
  coracle::testing::virtual_clock clock;
  manual_scheduler place{clock};
  auto polled = poll(place, coracle::sleep_for(1h));
  clock.advance(59min);
  CHECK_FALSE(polled.run());
  clock.advance(1min);
  CHECK(polled.run());
  polled.get();
}

TEST_CASE("poll: an rvalue is moved in and lives as long as what is polled; an lvalue is referred to") {
  coracle::testing::lifetimes log;
  const auto holds = [](coracle::testing::lifetime_probe probe) -> task<int> { co_return probe.id(); };
  {
    auto polled = poll(holds(coracle::testing::lifetime_probe{log, 5}));
    CHECK(polled.get() == 5);
    CHECK(log.alive == 1);
  }
  CHECK(log.alive == 0);
  CHECK(log.destroyed == std::vector{5});
}

TEST_CASE("poll: what has not gone on is destroyed where it stands") {
  coracle::testing::lifetimes log;
  coracle::channel<int> never{1};
  const auto holds = [](coracle::testing::lifetime_probe, coracle::channel<int>& from) -> task<> {
    static_cast<void>(co_await from.recv());
  };
  {
    auto polled = poll(holds(coracle::testing::lifetime_probe{log}, never));
    CHECK_FALSE(polled.run());
    polled.request_stop();
    CHECK(polled.run());
  }
  CHECK(log.alive == 0);
}

TEST_CASE("poll: more children than start inside one another are all started before poll() returns") {
  coracle::async_manual_reset_event event;
  int started = 0;
  const auto nest = [&](auto& self, int depth) -> task<> {
    ++started;
    if (depth != 0) {
      co_await coracle::when_all(self(self, depth - 1));
    } else {
      co_await event;
    }
  };
  auto polled = poll(nest(nest, 100));
  CHECK(started == 101);
  event.set();
  CHECK(polled.run());
  polled.get();
}

TEST_CASE("poll: a result that is not ready ends the program") {
  CHECK(coracle_test::abort_message([] {
          coracle::async_manual_reset_event event;
          auto polled = poll(after(event, 1));
          static_cast<void>(polled.get());
        }) == "coracle: get() of a polled awaitable that is not ready: run() it first\n");
}
}  // namespace
