// tests/unit/io_loop_fairness_test.cpp -- which coroutine a loop resumes next, and when it polls.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/io/io_service.hpp>
#include <coroutine>
#include <cstdint>
#include <string>

#include "../support/detached.hpp"
#include "../support/socket_pair.hpp"
#include "../support/test_coroutine.hpp"
#include "scripted_io_system.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::io_service;
using coracle_test::detached;
using coracle_test::io_descriptor;
using coracle_test::io_descriptor_kind;
using coracle_test::io_opcode;
using coracle_test::raw_operation;
using coracle_test::scripted_io::kept;
using coracle_test::scripted_io::script;
using coracle_test::scripted_io::scripted_system;
using coracle_test::scripted_io::slice;
using coracle_test::scripted_io::time_point;

TEST_CASE("io_service: what has been posted and what has finished take turns") {
  scripted_system system;
  system.its.time = time_point{9ms};
  io_service io{system};
  std::string order;
  const auto hop = [&]() -> detached {
    co_await io.schedule();
    order += 'p';
  };
  const auto past = [&]() -> detached {
    co_await io.schedule_at(time_point{5ms});
    order += 'f';
  };
  for (int i = 0; i != 3; ++i) {
    hop();
    past();
  }
  io.process_pending_events();
  CHECK(order == "fpfpfp");
}

/// Schedules itself until `over`; each turn takes a given time.
coracle::task<> hop_on(io_service& io, script& its, std::uint64_t turn, const bool& over) {
  while (!over) {
    co_await io.schedule();
    its.spend(turn);
  }
}
/// Returns how late a timer fires.
coracle::task<> tick(io_service& io, script& its, std::chrono::nanoseconds& late, bool& over) {
  const time_point due = its.time + std::chrono::nanoseconds(10 * slice + 1);
  co_await io.schedule_at(due);
  late = its.time - due;
  over = true;
}

TEST_CASE(
    "io_service: a timer beside coroutines that are always ready is late by a slice and two turns at most") {
  for (const std::uint64_t turn : {slice / 100, slice / 3, 3 * slice}) {
    scripted_system system;
    io_service io{system};
    std::chrono::nanoseconds late{};
    bool over = false;
    io.run(coracle::when_all(hop_on(io, system.its, turn, over), hop_on(io, system.its, turn, over),
                             tick(io, system.its, late, over)));
    CHECK(late.count() <= static_cast<std::int64_t>(slice + 2 * turn));
    CHECK(system.its.sleeps == 0);
  }
}

/// Its operations never have to wait.
coracle::task<> read_on(io_service& io, const io_descriptor& file, int& reads, const bool& over) {
  char byte = 0;
  co_await io.schedule();
  while (!over) {
    co_await raw_operation(file, io_opcode::read_at, &byte, 1);
    ++reads;
  }
}

TEST_CASE("io_service: a timer beside operations that are always ready is late by two slices at most") {
  for (const std::uint64_t takes : {slice / 16, slice / 2, 2 * slice}) {
    scripted_system system;
    system.its.operation_takes = takes;
    io_service io{system};
    const io_descriptor file{io, 0, io_descriptor_kind::file};
    std::chrono::nanoseconds late{};
    bool over = false;
    int reads = 0;
    io.run(coracle::when_all(read_on(io, file, reads, over), read_on(io, file, reads, over),
                             read_on(io, file, reads, over), tick(io, system.its, late, over)));
    CHECK(late.count() <= static_cast<std::int64_t>(2 * slice + 2 * takes));
    CHECK(reads != 0);
  }
}

TEST_CASE("io_service: a turn begins when the system has been asked, not with the turn before a sleep") {
  scripted_system system;
  io_service io{system};
  const io_descriptor file{io, 0, io_descriptor_kind::file};
  int hops = 0, hops_before_read = -1;
  const auto hop = [&]() -> detached {
    co_await io.schedule();
    ++hops;
  };
  const auto work = [&]() -> coracle::task<> {
    char byte = 0;
    co_await io.schedule();
    co_await raw_operation(file, io_opcode::read_at, &byte, 1);
    system.its.spend(2 * slice);
    co_await io.schedule_after(5ms);
    hop();
    co_await raw_operation(file, io_opcode::read_at, &byte, 1);
    hops_before_read = hops;
  };
  io.run(work());
  CHECK(system.its.sleeps == 1);
  CHECK(hops_before_read == 0);
  io.process_pending_events();
}

TEST_CASE("io_service: a loop that has run inside another leaves that its turn") {
  scripted_system system, inner;
  io_service io{system};
  const io_descriptor file{io, 0, io_descriptor_kind::file};
  int hops = 0, hops_before_read = -1;
  const auto hop = [&]() -> detached {
    co_await io.schedule();
    ++hops;
  };
  const auto work = [&]() -> coracle::task<> {
    char byte = 0;
    co_await io.schedule();
    co_await raw_operation(file, io_opcode::read_at, &byte, 1);
    io_service{inner}.process_pending_events();
    system.its.spend(2 * slice);
    hop();
    co_await raw_operation(file, io_opcode::read_at, &byte, 1);
    hops_before_read = hops;
  };
  io.run(work());
  CHECK(hops_before_read == 1);
}

TEST_CASE("io_service: a coroutine of another executor that gives way to the loop goes on where it was") {
  scripted_system system;
  io_service io{system};
  const io_descriptor file{io, 0, io_descriptor_kind::file};
  coracle::run_loop other;
  coracle::executor* resumed_on = nullptr;
  const auto read = [&]() -> detached {
    char byte = 0;
    co_await other.schedule();
    co_await raw_operation(file, io_opcode::read_at, &byte, 1);
    resumed_on = coracle::current_executor();
  };
  bool gave_way = false;
  const auto work = [&]() -> coracle::task<> {
    char byte = 0;
    co_await io.schedule();
    co_await raw_operation(file, io_opcode::read_at, &byte, 1);
    system.its.spend(2 * slice);
    read();
    CHECK(other.run_one());
    gave_way = resumed_on == nullptr;
  };
  io.run(work());
  io.process_pending_events();
  CHECK(gave_way);
  CHECK(other.run_one());
  CHECK(resumed_on == &other);
}

TEST_CASE(
    "io_service: a loop that begins, or wakes after long, runs what is ready before it asks the system") {
  scripted_system system;
  io_service io{system};
  coracle::stop_source source;
  int hops = 0;
  const auto hop = [&]() -> detached {
    co_await io.schedule();
    ++hops;
  };
  // While a timer is set, the system may have something to report.
  const auto wait = [&]() -> detached {
    try {
      co_await io.schedule_at(time_point{1h}, source.get_token());
    } catch (const coracle::operation_cancelled&) {
    }
  };
  wait();
  hop();
  io.process_one_event();
  std::coroutine_handle<> handle;
  system.its.in_sleep[0] = [&] {
    system.its.spend(2 * slice);
    hop();
    hop();
  };
  system.its.in_sleep[1] = [&] { handle.resume(); };
  io.run(kept{handle});
  CHECK(hops == 3);
  CHECK(system.its.looks == 0);
  source.request_stop();
  io.process_pending_events();
}

TEST_CASE(
    "io_service: a coroutine whose operations are ready gives way after a slice, behind what is scheduled") {
  scripted_system system;
  io_service io{system};
  const io_descriptor file{io, 0, io_descriptor_kind::file};
  bool over = false;
  int reads = 0, hops = 0, most_reads = 0;
  const auto hop = [&]() -> coracle::task<> {
    for (; hops != 30; ++hops) {
      const int before = reads;
      co_await io.schedule();
      most_reads = std::max(most_reads, reads - before);
    }
    over = true;
  };
  io.run(coracle::when_all(read_on(io, file, reads, over), hop(), hop_on(io, system.its, 0, over)));
  CHECK(most_reads == 16);
}

TEST_CASE("io_service: a coroutine that has given way may be destroyed, and those behind it go on") {
  scripted_system system;
  system.its.operation_takes = slice;
  io_service io{system};
  const io_descriptor file{io, 0, io_descriptor_kind::file};
  bool over = false;
  int reads = 0, hops = 0;
  const auto count = [&]() -> detached {
    co_await io.schedule();
    ++hops;
  };
  auto first = coracle_test::started(read_on(io, file, reads, over));
  auto second = coracle_test::started(read_on(io, file, reads, over));
  count();
  for (int i = 0; i != 2; ++i) io.process_one_event();  // each reads twice, and stands behind
  CHECK(reads == 2);
  count();
  SUBCASE("the first") { first.destroy(); }
  SUBCASE("the last but one") { second.destroy(); }
  SUBCASE("both") {
    first.destroy();
    second.destroy();
  }
  io.process_one_event();
  CHECK(hops == 1);
  over = true;
  io.process_pending_events();
  CHECK(hops == 2);
}
}  // namespace
