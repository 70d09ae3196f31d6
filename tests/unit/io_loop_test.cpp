// tests/unit/io_loop_test.cpp -- how often the event loop of an io_service polls the system, the longest time
// between two polls, and how often it sleeps.
// SPDX-License-Identifier: MIT
#include "../../src/io/io_loop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/signal_set.hpp>
#include <coroutine>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "../../src/exec/turn_order.hpp"
#include "../../src/io/io_backend.hpp"
#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/inert_io_system.hpp"
#include "../support/socket_pair.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::io_service;
using coracle::detail::io_backend;
using coracle::detail::io_loop;
using coracle::detail::io_system;
using coracle_test::detached;
using coracle_test::io_descriptor;
using coracle_test::io_descriptor_kind;
using coracle_test::io_opcode;
using coracle_test::raw_operation;
using time_point = std::chrono::steady_clock::time_point;

constexpr std::uint64_t slice = coracle::detail::turn_order::slice;

/// A system controlled by the test: what happens during each sleep, in order, and how often it was polled.
struct script {
  std::function<void()> in_sleep[3];
  std::function<void()> in_look;
  std::function<void()> when_asked_for_time;  ///< the next time
  int sleeps = 0;
  int looks = 0;  ///< which did not wait
  int wakes = 0;
  int timers_set = 0;
  time_point time{};
  time_point timer = time_point::max();
  std::uint64_t ticks = 0;
  std::uint64_t operation_takes = slice / 16;
  bool is_simulated = false;  ///< others run the loop, and always count as a run() that sleeps

  /// Advances both clocks, as code that runs for `some` ticks would.
  void spend(std::uint64_t some) {
    ticks += some;
    time += std::chrono::nanoseconds(some);
  }
};

class scripted_backend final : public coracle_test::inert_io_backend {
 public:
  scripted_backend(io_system& system, script& its, io_loop& loop) noexcept
      : inert_io_backend(system), script_(its), loop_(loop) {
    record_.backend = this;
    if (its.is_simulated) loop.others_run();
  }

  signals poll(bool wait, completions&) noexcept override {
    if (!wait) {
      // A loop that spins would otherwise never end.
      if (++script_.looks == 100) std::abort();
      if (script_.in_look) script_.in_look();
    } else {
      REQUIRE(script_.sleeps != 3);
      if (const auto& happens = script_.in_sleep[script_.sleeps++]) happens();
      if (!woken_) script_.time = std::max(script_.time, script_.timer);
    }
    const bool timer = script_.timer <= script_.time;
    if (timer) script_.timer = time_point::max();
    return {std::exchange(woken_, false), timer};
  }
  void wake() noexcept override {
    woken_ = true;
    ++script_.wakes;
  }
  void set_timer(std::uint64_t nanoseconds) noexcept override {
    ++script_.timers_set;
    script_.timer = time_point{std::chrono::nanoseconds{nanoseconds}};
  }

  coracle::detail::io_record& attach(int, coracle::detail::io_descriptor_kind) override { return record_; }
  /// Its operations never have to wait.
  bool submit(coracle::detail::io_request& request) noexcept override {
    script_.spend(script_.operation_takes);
    request.result = 1;
    return false;
  }
  void deliver(coracle::detail::io_request& request) noexcept override {
    loop_.finish_behind_others(request);
  }
  bool withdraw(coracle::detail::io_request& request) noexcept override { return loop_.unlist(request); }

 private:
  script& script_;
  io_loop& loop_;
  coracle::detail::io_record record_;
  bool woken_ = false;
};

class scripted_system final : public coracle_test::inert_io_system {
 public:
  time_point now() noexcept override {
    if (const auto happens = std::exchange(its.when_asked_for_time, nullptr)) happens();
    return its.time;
  }
  std::uint64_t ticks() noexcept override { return its.ticks; }
  std::unique_ptr<io_backend> backend_for(io_loop& loop) override {
    return std::make_unique<scripted_backend>(*this, its, loop);
  }

  script its;
};

/// Suspends until the test resumes it, without an executor.
struct kept {
  std::coroutine_handle<>& handle;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) const noexcept { handle = suspended; }
  void await_resume() const noexcept {}
};

TEST_CASE(
    "io_service: a run() whose awaitable ends while it sleeps leaves nothing that keeps the next one awake") {
  scripted_system system;
  io_service io{system};
  std::coroutine_handle<> handle;
  for (auto& each : system.its.in_sleep) each = [&] { handle.resume(); };
  for (int runs = 1; runs != 4; ++runs) {
    io.run(kept{handle});
    CHECK(system.its.sleeps == runs);
    CHECK(system.its.looks == 0);
  }
}

TEST_CASE(
    "io_service: what is ready is run without asking a system that has nothing to tell, however long it "
    "takes") {
  scripted_system system;
  io_service io{system};
  int turns = 0;
  const auto work = [&]() -> coracle::task<> {
    for (; turns != 300; ++turns) {
      co_await io.schedule();
      system.its.spend(slice);
    }
  };
  io.run(work());
  CHECK(turns == 300);
  CHECK(system.its.sleeps == 0);
  CHECK(system.its.looks == 0);
}

TEST_CASE("signal_set: a simulated io_service, where no signals come, is refused") {
  CHECK(coracle_test::abort_message([] {
          scripted_system system;
          io_service io{system};
          const coracle::signal_set signals{io, {SIGUSR1}};
        }).find("a signal_set was made for a simulated io_service, where no signals come") !=
        std::string::npos);
}

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

TEST_CASE("io_service: a wake-up that has arrived is not under way any more: the next post wakes again") {
  scripted_system system;
  io_service io{system};
  int hops = 0;
  const auto hop = [&]() -> detached {
    co_await io.schedule();
    ++hops;
  };
  std::coroutine_handle<> handle;
  system.its.in_sleep[0] = hop;
  system.its.in_sleep[1] = hop;
  system.its.in_sleep[2] = [&] { handle.resume(); };
  io.run(kept{handle});
  CHECK(hops == 2);
  CHECK(system.its.wakes == 3);  // by both posts and the end
  CHECK(system.its.sleeps == 3);
  CHECK(system.its.looks == 0);
}

TEST_CASE(
    "io_service: where others run the loop a post wakes them, but stop(), which does not concern a run(), "
    "does not") {
  scripted_system system;
  system.its.is_simulated = true;
  io_service io{system};
  io.stop();
  CHECK(system.its.wakes == 0);
  const auto hop = [&]() -> detached { co_await io.schedule(); };
  hop();
  CHECK(system.its.wakes == 1);
  io.reset();
  io.process_pending_events();
}

TEST_CASE("io_service: several posts wake a sleeper once") {
  scripted_system system;
  io_service io{system};
  int hops = 0;
  const auto hop = [&]() -> detached {
    co_await io.schedule();
    ++hops;
  };
  std::coroutine_handle<> handle;
  system.its.in_sleep[0] = [&] {
    hop();
    hop();
  };
  system.its.in_sleep[1] = [&] { handle.resume(); };
  io.run(kept{handle});
  CHECK(hops == 2);
  CHECK(system.its.wakes == 2);  // by the posts and the end
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

TEST_CASE("io_service: a stop() does not wake who sleeps inside run(), nor keep it from sleeping on") {
  scripted_system system;
  io_service io{system};
  std::coroutine_handle<> handle;
  system.its.in_sleep[0] = [&] { io.stop(); };
  system.its.in_sleep[1] = [&] { handle.resume(); };
  io.run(kept{handle});
  CHECK(system.its.sleeps == 2);
  CHECK(system.its.looks == 0);
  CHECK(system.its.wakes == 1);  // by the end
}

TEST_CASE("io_service: a wake-up that reaches who is not to leave is passed on before it polls again") {
  scripted_system system;
  io_service io{system};
  std::coroutine_handle<> handle;
  int wakes_before_look = 0;
  // While one thread sleeps until the stop(), another one sleeps inside run() and receives the wake-up.
  system.its.in_sleep[0] = [&] { io.run(kept{handle}); };
  system.its.in_sleep[1] = [&] { io.stop(); };
  system.its.in_look = [&] {
    if (system.its.looks == 1) wakes_before_look = system.its.wakes;
    handle.resume();
    system.its.in_look = nullptr;
  };
  io.process_events();
  CHECK(wakes_before_look == 2);
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

TEST_CASE("io_service: work that ends without having begun ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          scripted_system system;
          io_service{system}.notify_work_finished();
        }).find("coracle: notify_work_finished() of an io_service without a notify_work_started()") == 0);
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

TEST_CASE("io_service: an operation that goes behind others wakes a thread that sleeps") {
  scripted_system system;
  io_service io{system};
  const io_descriptor file{io, 0, io_descriptor_kind::file};
  std::coroutine_handle<> handle;
  int wakes = -1;
  const auto read = [&]() -> detached {
    char byte = 0;
    co_await raw_operation(file, io_opcode::read_at, &byte, 1);
    system.its.spend(2 * slice);
    co_await raw_operation(file, io_opcode::read_at, &byte, 1);
    handle.resume();
  };
  system.its.in_sleep[0] = [&] {
    read();
    wakes = system.its.wakes;
  };
  io.run(kept{handle});
  CHECK(wakes == 1);
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
