// tests/unit/virtual_clock_test.cpp -- time controlled by a test: which timers fire, when, in which order.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/testing/virtual_clock.hpp>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::testing::virtual_clock;
using coracle_test::abort_message;

struct noted : coracle::detail::timer {
  noted(virtual_clock& by, std::vector<virtual_clock::time_point>& into) noexcept
      : timer(&note), clock(by), log(into) {}
  static void note(timer& self) noexcept {
    auto& mine = static_cast<noted&>(self);
    mine.log.push_back(mine.clock.now());
    if (mine.next) mine.clock.add(*mine.next, mine.clock.now() + 1s);
  }
  virtual_clock& clock;
  std::vector<virtual_clock::time_point>& log;
  noted* next = nullptr;
};

TEST_CASE("virtual_clock: it stands still until it is moved, and then shows just that") {
  virtual_clock clock;
  CHECK(clock.now() == virtual_clock::start);
  CHECK(clock.empty());
  clock.advance(90s);
  CHECK(clock.now() == virtual_clock::start + 90s);
  clock.advance_to(virtual_clock::start + 2min);
  CHECK(clock.now() == virtual_clock::start + 2min);
  clock.advance_to(virtual_clock::start);
  CHECK(clock.now() == virtual_clock::start + 2min);
  clock.advance(-1s);
  CHECK(clock.now() == virtual_clock::start + 2min);
}

TEST_CASE("virtual_clock: timers fire by deadline, each at its moment, those of the last moment too") {
  virtual_clock clock;
  std::vector<virtual_clock::time_point> log;
  noted late(clock, log), early(clock, log), beyond(clock, log);
  clock.add(late, virtual_clock::start + 3s);
  clock.add(early, virtual_clock::start + 1s);
  clock.add(beyond, virtual_clock::start + 3s + 1ns);
  CHECK_FALSE(clock.empty());
  clock.advance(3s);
  CHECK(log == std::vector{virtual_clock::start + 1s, virtual_clock::start + 3s});
  CHECK(clock.remove(beyond));
  CHECK(clock.empty());
  CHECK_FALSE(clock.remove(beyond));
}

TEST_CASE("virtual_clock: a timer that another one sets in time fires in the same advance()") {
  virtual_clock clock;
  std::vector<virtual_clock::time_point> log;
  noted first(clock, log), second(clock, log);
  first.next = &second;
  clock.add(first, virtual_clock::start + 1s);
  clock.advance(5s);
  CHECK(log == std::vector{virtual_clock::start + 1s, virtual_clock::start + 2s});
  CHECK(clock.now() == virtual_clock::start + 5s);
}

TEST_CASE(
    "virtual_clock: jump() moves to the first timers, not beyond what it is allowed, and fires nothing") {
  virtual_clock clock;
  std::vector<virtual_clock::time_point> log;
  noted first(clock, log), same(clock, log), second(clock, log);
  clock.add(first, virtual_clock::start + 1h);
  clock.add(same, virtual_clock::start + 1h);
  clock.add(second, virtual_clock::start + 2h);
  CHECK_FALSE(clock.jump(virtual_clock::start + 59min));
  CHECK(clock.now() == virtual_clock::start);
  while (!clock.fire_due()) CHECK(clock.jump());  // the wheel may stop on its way
  CHECK(clock.now() == virtual_clock::start + 1h);
  CHECK(clock.fire_due());
  CHECK_FALSE(clock.fire_due());
  CHECK(log == std::vector(2, virtual_clock::start + 1h));
  while (!clock.fire_due()) CHECK(clock.jump());
  CHECK_FALSE(clock.jump());
  CHECK(clock.now() == virtual_clock::start + 2h);
}

TEST_CASE("virtual_clock: a timer for never does not fire") {
  virtual_clock clock;
  std::vector<virtual_clock::time_point> log;
  noted never(clock, log);
  clock.add(never, virtual_clock::time_point::max());
  CHECK_FALSE(clock.jump());
  CHECK(clock.remove(never));
}

TEST_CASE("virtual_clock: a timer that is left, or set by a foreign thread, ends the program") {
  CHECK(abort_message([] {
          std::vector<virtual_clock::time_point> log;
          virtual_clock clock;
          noted left(clock, log);
          clock.add(left, virtual_clock::start);
        }) ==
        "coracle: a virtual clock was destroyed with timers armed: join the coroutines that sleep first\n");
  CHECK(abort_message([] {
          virtual_clock clock;
          std::vector<virtual_clock::time_point> log;
          noted timer(clock, log);
          std::thread([&] { clock.add(timer, virtual_clock::start); }).join();
        }) == "coracle: a virtual clock was used by a thread other than its own\n");
}
}  // namespace
