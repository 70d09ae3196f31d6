// tests/unit/io_loop_timer_test.cpp -- when the loop of an io_service fires and sets timers.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <cstdint>

#include "../support/detached.hpp"
#include "scripted_io_system.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::io_service;
using coracle_test::detached;
using coracle_test::scripted_io::scripted_system;
using coracle_test::scripted_io::slice;
using coracle_test::scripted_io::time_point;

TEST_CASE("io_service: two timers in turn take a sleep each") {
  scripted_system system;
  io_service io{system};
  const auto work = [&]() -> coracle::task<> {
    co_await io.schedule_after(5ms);
    co_await io.schedule_after(1ms);
  };
  io.run(work());
  CHECK(system.its.time == time_point{6ms});
  CHECK(system.its.sleeps == 2);
  CHECK(system.its.looks == 0);
}

TEST_CASE(
    "io_service: a stop request while a timer is started ends its wait, but one that is past is over "
    "already") {
  scripted_system system;
  io_service io{system};
  coracle::stop_source stop;
  bool cancelled = false;
  const auto wait_for = [&](std::chrono::milliseconds time) -> coracle::task<> {
    stop = {};
    system.its.when_asked_for_time = [&] { stop.request_stop(); };
    try {
      co_await io.schedule_at(time_point{time}, stop.get_token());
      cancelled = false;
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  io.run(wait_for(0ms));
  CHECK(stop.stop_requested());
  CHECK_FALSE(cancelled);
  io.run(wait_for(5ms));
  CHECK(stop.stop_requested());
  CHECK(cancelled);
  CHECK(system.its.time == time_point{});
}

TEST_CASE(
    "io_service: a timer whose time has come is not cancelled any more, though it has not gone on yet") {
  scripted_system system;
  system.its.time = time_point{9ms};
  io_service io{system};
  coracle::stop_source source;
  int over = 0, cancelled = 0;
  const auto wait = [&]() -> detached {
    try {
      co_await io.schedule_at(time_point{5ms}, source.get_token());
      ++over;
    } catch (const coracle::operation_cancelled&) {
      ++cancelled;
    }
  };
  wait();
  source.request_stop();
  io.process_pending_events();
  CHECK(over == 1);
  CHECK(cancelled == 0);
}

TEST_CASE(
    "io_service: the system's timer is set when a thread goes to sleep, and meanwhile only for an earlier "
    "deadline") {
  scripted_system system;
  io_service io{system};
  int over = 0;
  const auto wait = [&](time_point until) -> detached {
    co_await io.schedule_at(until);
    ++over;
  };
  wait(time_point{9ms});
  wait(time_point{5ms});
  CHECK(system.its.timers_set == 0);
  system.its.in_sleep[0] = [&] {
    CHECK(system.its.timer == time_point{5ms});
    wait(time_point{7ms});
    CHECK(system.its.timers_set == 1);
    wait(time_point{3ms});
    CHECK(system.its.timers_set == 2);
  };
  for (int i = 1; i != 5; ++i) {
    io.process_one_event();
    CHECK(over == i);
    if (i == 3) system.its.sleeps = 0;  // no more than three are scripted
    system.its.in_sleep[0] = nullptr;
  }
  CHECK(system.its.time == time_point{9ms});
}

TEST_CASE("io_service: timers that become due while coroutines run fire without the system's timer") {
  scripted_system system;
  io_service io{system};
  int over = 0;
  const auto wait = [&](time_point until) -> detached {
    co_await io.schedule_at(until);
    ++over;
  };
  const auto work = [&]() -> coracle::task<> {
    while (over != 3) {
      system.its.spend(2 * slice);
      co_await io.schedule();
    }
  };
  for (const std::uint64_t after : {slice, 2 * slice, 3 * slice})
    wait(system.its.time + std::chrono::nanoseconds(after));
  io.run(work());
  CHECK(system.its.timers_set == 0);
  CHECK(system.its.sleeps == 0);
}

TEST_CASE("io_service: a thread that fires a timer while another sleeps sets the next for the sleeper") {
  scripted_system system;
  io_service io{system};
  int over = 0;
  const auto wait = [&](time_point until) -> detached {
    co_await io.schedule_at(until);
    ++over;
  };
  wait(time_point{3ms});
  wait(time_point{9ms});
  system.its.in_sleep[0] = [&] {
    system.its.time = time_point{3ms};
    CHECK(io.process_pending_events() == 1);
    CHECK(system.its.timer == time_point{9ms});
  };
  io.process_one_event();
  CHECK(over == 2);
  CHECK(system.its.timers_set == 2);
}

TEST_CASE("io_service: a thread does not go to sleep when a timer is due") {
  scripted_system system;
  io_service io{system};
  int over = 0;
  const auto wait = [&](time_point until) -> detached {
    co_await io.schedule_at(until);
    ++over;
  };
  wait(time_point{3ms});
  system.its.time = time_point{3ms};
  io.process_one_event();
  CHECK(over == 1);
  CHECK(system.its.sleeps == 0);
}
}  // namespace
