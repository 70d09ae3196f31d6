// tests/unit/io_service_timer_test.cpp -- the timers of an io_service.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>
#include <latch>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::io_service;
using coracle::stop_source;
using coracle::stop_token;
using coracle::task;
using coracle_test::detached;
using coracle_test::test_coroutine;
using steady = std::chrono::steady_clock;

detached log_on(io_service& io, std::vector<int>& log, int name) {
  co_await io.schedule();
  log.push_back(name);
}

TEST_CASE("io_service: a timer is never early, and resumes on the io_service") {
  io_service io;
  for (const auto delay : {1us, 50us, 1000us, 3000us}) {
    const auto begin = steady::now();
    const coracle::executor* where = nullptr;
    const auto sleep = [&]() -> detached {
      co_await io.schedule_after(delay);
      where = coracle::current_executor();
    };
    sleep();
    CHECK(io.process_one_event() == 1);
    CHECK(steady::now() - begin >= delay);
    CHECK(where == &io);
  }
}

TEST_CASE("io_service: timers fire by deadline, equal ones in the order in which they were awaited") {
  std::vector<int> log;
  bool all_waited = false;  // a busy machine may take until after a deadline to set the timers
  for (auto step = 1ms; !all_waited; step *= 2) {
    io_service io;
    const auto now = steady::now();
    const auto sleep_until = [&](steady::time_point time, int name) -> detached {
      co_await io.schedule_at(time);
      log.push_back(name);
    };
    log.clear();
    sleep_until(now + 3 * step, 5);
    sleep_until(now + step, 2);
    sleep_until(now + 2 * step, 3);
    sleep_until(now + 2 * step, 4);
    sleep_until(now - 1h, 1);
    all_waited = steady::now() < now + step;
    for (int i = 0; i != 5; ++i) CHECK(io.process_one_event() == 1);
  }
  CHECK(log == std::vector{1, 2, 3, 4, 5});
}

TEST_CASE("io_service: an earlier timer that comes from another thread while the loop sleeps is not missed") {
  io_service io;
  stop_source source;
  bool late_ended = false, early_ended = false;
  const auto sleep = [&](auto delay, bool& ended) -> detached {
    try {
      co_await io.schedule_after(delay, source.get_token());
    } catch (const coracle::operation_cancelled&) {
    }
    ended = true;
  };
  sleep(1h, late_ended);
  std::thread other{[&] { sleep(1ms, early_ended); }};
  CHECK(io.process_one_event() == 1);
  other.join();
  CHECK(early_ended);
  CHECK_FALSE(late_ended);
  source.request_stop();
  CHECK(io.process_one_event() == 1);
  CHECK(late_ended);
}

TEST_CASE("io_service: a timer that is stopped, or due at once, on another thread wakes the loop") {
  for (int i = 0; i != 50; ++i) {
    io_service io;
    stop_source source;
    std::latch running{1}, stopped{1}, due{1};
    const auto sleep = [&]() -> detached {
      try {
        co_await io.schedule_after(1h, source.get_token());
      } catch (const coracle::operation_cancelled&) {
      }
      stopped.count_down();
    };
    const auto announce = [&]() -> detached {
      co_await io.schedule();
      running.count_down();
    };
    const auto be_due = [&]() -> detached {
      co_await io.schedule_after(0s);
      due.count_down();
    };
    sleep();
    announce();
    std::thread runner{[&] { io.process_events(); }};
    running.wait();  // the loop has nothing left to do now but to wait
    source.request_stop();
    stopped.wait();
    be_due();
    due.wait();
    io.stop();
    runner.join();
  }
}

TEST_CASE("io_service: no delay, a negative one and a time that is past are an event that is due") {
  io_service io;
  int ended = 0;
  const auto sleep = [&](auto timer) -> detached {
    co_await std::move(timer);
    ++ended;
  };
  sleep(io.schedule_after(0s));
  sleep(io.schedule_after(std::chrono::hours::min()));
  sleep(io.schedule_after(std::chrono::duration<double>(-1.5)));
  sleep(io.schedule_at(steady::time_point::min()));
  CHECK(ended == 0);
  CHECK(io.process_pending_events() == 4);
  CHECK(ended == 4);
}

/// A timer that the test ends.
test_coroutine sleeping(io_service& io, steady::duration delay, stop_token token, char& ending) {
  try {
    co_await io.schedule_after(delay, std::move(token));
    ending = 'f';
  } catch (const coracle::operation_cancelled&) {
    ending = 'c';
  }
  if (coracle::current_executor() != &io) ending = static_cast<char>(ending - 'a' + 'A');
}

TEST_CASE("io_service: a delay that is too long for the clock is one that never ends") {
  io_service io;
  stop_source source;
  char ending = 0;
  const auto sleep = [&]() -> test_coroutine {
    try {
      co_await io.schedule_after(std::chrono::hours::max(), source.get_token());
      ending = 'f';
    } catch (const coracle::operation_cancelled&) {
      ending = 'c';
    }
  };
  auto waiting = sleep();
  waiting.resume();
  CHECK(io.process_pending_events() == 0);
  source.request_stop();
  CHECK(io.process_pending_events() == 1);
  CHECK(ending == 'c');
}

TEST_CASE("io_service: stop requested before a timer: cancelled where it is, without suspending") {
  io_service io;
  stop_source source;
  source.request_stop();
  char ending = 0;
  auto waiting = sleeping(io, 1h, source.get_token(), ending);
  waiting.resume();
  CHECK(ending == 'C');
}

TEST_CASE(
    "io_service: stop requested during a timer: cancelled on the io_service, not inside request_stop()") {
  io_service io;
  stop_source source;
  char ending = 0;
  auto waiting = sleeping(io, 1h, source.get_token(), ending);
  waiting.resume();
  source.request_stop();
  CHECK(ending == 0);
  CHECK(io.process_pending_events() == 1);
  CHECK(ending == 'c');
}

TEST_CASE("io_service: stop requested after a timer's time has come has no effect") {
  io_service io;
  stop_source source;
  char endings[2] = {};
  auto a = sleeping(io, 0s, source.get_token(), endings[0]),
       b = sleeping(io, 1us, source.get_token(), endings[1]);
  a.resume();
  b.resume();
  CHECK(io.process_one_event() == 1);
  CHECK(io.process_one_event() == 1);
  source.request_stop();
  CHECK(io.process_pending_events() == 0);
  CHECK(endings[0] == 'f');
  CHECK(endings[1] == 'f');
}

TEST_CASE("io_service: a timer takes the inherited token where none is given") {
  io_service io;
  stop_source source;
  bool cancelled = false;
  const auto sleep = [&]() -> task<> {
    try {
      co_await io.schedule_after(1h);
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  const auto stop_it = [&]() -> task<> {
    co_await io.schedule();
    source.request_stop();
    while (!cancelled) co_await io.schedule();
    io.stop();
  };
  const auto pump = [&]() -> task<> {
    io.process_events();
    co_return;
  };
  coracle::sync_wait(coracle::when_all(coracle::with_stop(sleep(), source.get_token()), stop_it(), pump()));
  CHECK(cancelled);
}

TEST_CASE("io_service: a coroutine destroyed in a timer is taken out, also when it is due but not resumed") {
  io_service io;
  stop_source source;
  char endings[3] = {};
  auto waiting = sleeping(io, 1h, source.get_token(), endings[0]);
  auto due = sleeping(io, 0s, source.get_token(), endings[1]);
  auto stopped = sleeping(io, 1h, source.get_token(), endings[2]);
  for (test_coroutine* const each : {&waiting, &due, &stopped}) each->resume();
  waiting.destroy();
  source.request_stop();
  due.destroy();
  stopped.destroy();
  CHECK(io.process_pending_events() == 0);
  for (const char each : endings) CHECK(each == 0);
}

TEST_CASE("io_service: a timer may be moved until it is awaited") {
  io_service io;
  stop_source source;
  const auto pump = [&]() -> task<> {
    CHECK(io.process_one_event() == 1);
    CHECK(io.process_one_event() == 1);
    co_return;
  };
  coracle::sync_wait(
      coracle::when_all(io.schedule_after(1us, source.get_token()), io.schedule_after(2us), pump()));
}

TEST_CASE("io_service: ten thousand timers, a third of them stopped, end once each") {
  io_service io;
  stop_source source;
  int fired = 0, cancelled = 0;
  constexpr int count = 10'000;
  const auto now = steady::now();
  const auto sleep = [&](int i) -> detached {
    const auto time = i % 3 == 0 ? now + 1h + std::chrono::seconds(i) : now + std::chrono::microseconds(i);
    const stop_token token = i % 3 == 0 ? source.get_token() : stop_token{};
    try {
      co_await io.schedule_at(time, token);
      ++fired;
    } catch (const coracle::operation_cancelled&) {
      ++cancelled;
    }
  };
  for (int i = 0; i != count; ++i) sleep(i);
  source.request_stop();
  while (fired + cancelled != count) io.process_one_event();
  CHECK(cancelled == 3334);
  CHECK(io.process_pending_events() == 0);
}

TEST_CASE("io_service: sleep_for() and timeout() on it go by its own timers, on the thread that runs it") {
  io_service io;
  const auto work = [&]() -> task<> {
    const std::thread::id here = std::this_thread::get_id();
    const auto before = steady::now();
    co_await coracle::sleep_for(1ms);
    CHECK(steady::now() >= before + 1ms);
    CHECK_THROWS_AS(co_await coracle::timeout(coracle::sleep_for(1h), 1ms), coracle::timed_out);
    CHECK(coracle::current_executor() == &io);
    CHECK(std::this_thread::get_id() == here);
  };
  io.run(work());
}

TEST_CASE("io_service: a sleep on it that is over is one event; a stop request ends it as one") {
  io_service io;
  stop_source source;
  int over = 0, cancelled = 0;
  const auto sleep = [&](steady::duration delay) -> task<> {
    co_await io.schedule();
    try {
      co_await coracle::sleep_for(delay);
      ++over;
    } catch (const coracle::operation_cancelled&) {
      ++cancelled;
    }
  };
  coracle_test::run_detached(coracle::with_stop(sleep(1h), source.get_token()));
  CHECK(io.process_one_event() == 1);
  coracle_test::run_detached(sleep(1ms));
  CHECK(io.process_one_event() == 1);
  if (over == 0) {  // on a busy machine it may be over before it has begun to wait
    CHECK(io.process_one_event() == 1);
  }
  CHECK(over == 1);
  source.request_stop();
  CHECK(cancelled == 0);
  CHECK(io.process_one_event() == 1);
  CHECK(cancelled == 1);
  CHECK(io.process_pending_events() == 0);
}

TEST_CASE("io_service: destroyed while a coroutine sleeps on it ends the program and says so") {
  const std::string message = coracle_test::abort_message([] {
    io_service io;
    const auto sleep = [&]() -> detached {
      co_await io.schedule();
      co_await coracle::sleep_for(1h);
    };
    sleep();
    io.process_one_event();
  });
  CHECK(
      message.starts_with("coracle: an io_service was destroyed with coroutines scheduled on it or timers"));
}

TEST_CASE("io_service: destroyed with a coroutine scheduled, or a timer, ends the program and says so") {
  const std::string message =
      "coracle: an io_service was destroyed with coroutines scheduled on it or timers running: request their "
      "stop "
      "and process events until they have ended\n";
  CHECK(coracle_test::abort_message([] {
          io_service io;
          std::vector<int> log;
          log_on(io, log, 1);
        }) == message);
  CHECK(coracle_test::abort_message([] {
          io_service io;
          const auto sleep = [&]() -> detached { co_await io.schedule_after(1h); };
          sleep();
        }) == message);
  CHECK(coracle_test::abort_message([] { io_service().notify_work_finished(); }) ==
        "coracle: notify_work_finished() of an io_service without a notify_work_started()\n");
}

TEST_CASE("io_service: scheduling, timers and stopping them allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  io_service io;
  stop_source source;
  const auto work = [&]() -> test_coroutine {
    for (int i = 0; i != 100; ++i) {
      co_await io.schedule();
      co_await io.schedule_after(1us, source.get_token());
    }
  };
  auto working = work();
  const auto before = coracle::testing::allocations();
  working.resume();
  while (!working.done()) io.process_one_event();
  const auto after = coracle::testing::allocations();
  CHECK(after == before);
}
}  // namespace
