// tests/unit/manual_scheduler_test.cpp -- coroutines that resume in the order that a test picks.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/manual_scheduler.hpp>
#include <coracle/time/sleep.hpp>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/stoppable.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::testing::manual_scheduler;
using coracle::testing::virtual_clock;
using coracle_test::abort_message;
using coracle_test::detached;

detached log_there(manual_scheduler& place, std::vector<int>& log, int name) {
  co_await place.schedule();
  log.push_back(coracle::current_executor() == &place ? name : -name);
}

TEST_CASE("manual_scheduler: nothing runs until the test says so, and then here") {
  manual_scheduler place;
  std::vector<int> log;
  log_there(place, log, 1);
  CHECK(log.empty());
  CHECK(place.queued() == 1);
  CHECK(place.run_one());
  CHECK(log == std::vector{1});
  CHECK(place.queued() == 0);
  CHECK_FALSE(place.run_one());
  CHECK(coracle::current_executor() == nullptr);
}

TEST_CASE(
    "manual_scheduler: run() picks the first, the last or one between, and leaves the others in order") {
  for (std::size_t pick = 0; pick != 4; ++pick) {
    manual_scheduler place;
    std::vector<int> log, expected{static_cast<int>(pick)};
    for (int name = 0; name != 4; ++name) {
      log_there(place, log, name);
      if (name != static_cast<int>(pick)) expected.push_back(name);
    }
    place.run(pick);
    log_there(place, log, 9);  // behind the others, also where the last has gone
    expected.push_back(9);
    CHECK(place.run_all() == 4);
    CHECK(log == expected);
  }
}

TEST_CASE("manual_scheduler: what is posted by what runs waits for its own turn") {
  manual_scheduler place;
  std::vector<int> log;
  const auto twice = [](manual_scheduler& at, std::vector<int>& into) -> detached {
    co_await at.schedule();
    into.push_back(1);
    co_await at.schedule();
    into.push_back(2);
  };
  twice(place, log);
  CHECK(place.run_one());
  CHECK(log == std::vector{1});
  CHECK(place.queued() == 1);
  CHECK(place.run_all() == 1);
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("manual_scheduler: who waits for an event there is queued when it is set") {
  manual_scheduler place;
  coracle::async_manual_reset_event event;
  std::vector<int> log;
  coracle_test::run_detached_on(place, [](auto& e, auto& into) -> coracle::task<> {
    co_await e;
    into.push_back(1);
  }(event, log));
  place.run_all();
  event.set();
  CHECK(log.empty());
  CHECK(place.run_all() == 1);
  CHECK(log == std::vector{1});
}

TEST_CASE(
    "manual_scheduler: a stop on the way is seen on arrival, one before keeps a coroutine where it is") {
  manual_scheduler place;
  std::vector<int> log;
  coracle::stop_source stop;
  coracle_test::run_stoppable(stop.get_token(), place.schedule(), log, 1);
  stop.request_stop();
  CHECK(log.empty());
  place.run_one();
  CHECK(log == std::vector{-1});
  coracle_test::run_stoppable(stop.get_token(), place.schedule(), log, 2);
  CHECK(log == std::vector{-1, -2});
}

TEST_CASE("manual_scheduler: a sleep there goes by its clock, and is over when the test runs it") {
  virtual_clock clock;
  manual_scheduler place{clock};
  std::vector<int> log;
  coracle_test::run_detached_on(place, [](auto& into) -> coracle::task<> {
    co_await coracle::sleep_for(10ms);
    into.push_back(1);
  }(log));
  place.run_all();
  clock.advance(9ms);
  CHECK(place.queued() == 0);
  clock.advance(1ms);
  CHECK(place.queued() == 1);
  CHECK(log.empty());
  place.run_all();
  CHECK(log == std::vector{1});
}

TEST_CASE("manual_scheduler: a wrong pick, a full queue at the end and a foreign thread end the program") {
  CHECK(abort_message([] { manual_scheduler{}.run(0); }) ==
        "coracle: run() of a manual_scheduler: no coroutine is queued at this index\n");
  CHECK(abort_message([] {
          manual_scheduler place;
          std::vector<int> log;
          log_there(place, log, 1);
          place.run(1);
        }) == "coracle: run() of a manual_scheduler: no coroutine is queued at this index\n");
  CHECK(abort_message([] {
          std::vector<int> log;
          manual_scheduler place;
          log_there(place, log, 1);
        }) == "coracle: a manual_scheduler was destroyed with coroutines in its queue: join them first\n");
  CHECK(abort_message([] {
          manual_scheduler place;
          std::vector<int> log;
          std::thread([&] { log_there(place, log, 1); }).join();
        }) == "coracle: a manual_scheduler was used by a thread other than its own\n");
}
}  // namespace
