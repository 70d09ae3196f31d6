// tests/unit/io_run_test.cpp -- io_service::run(): an awaitable and its events on one thread.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/socket_pair.hpp"
#include "../support/wait_until_asleep.hpp"
#include "child_tasks.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::current_executor;
using coracle::io_service;
using coracle::task;
using coracle_test::detached;
using coracle_test::give;
using coracle_test::io_opcode;
using coracle_test::raw_operation;
using coracle_test::socket_pair;

TEST_CASE("io_service::run: gives the result: a value, a reference, what only moves, nothing") {
  io_service io;
  int number = 3;
  CHECK(io.run(give(42)) == 42);
  CHECK(&io.run(give<int&>(number)) == &number);
  CHECK(*io.run(give(std::make_unique<int>(7))) == 7);
  const auto nothing = [&]() -> task<> {
    ++number;
    co_return;
  };
  io.run(nothing());
  CHECK(number == 4);
}

TEST_CASE("io_service::run: throws what the awaitable throws") {
  io_service io;
  const auto fail = [&]() -> task<> {
    co_await io.schedule();
    throw std::runtime_error("not today");
  };
  CHECK_THROWS_WITH_AS(io.run(fail()), "not today", std::runtime_error);
  CHECK(io.run(give(1)) == 1);
}

TEST_CASE(
    "io_service::run: the awaitable begins on the io_service, on this thread, and its waits end there") {
  io_service io;
  const socket_pair pair{io};
  std::vector<const coracle::executor*> where;
  std::vector<std::thread::id> threads;
  const auto work = [&]() -> task<> {
    const auto note = [&] {
      where.push_back(current_executor());
      threads.push_back(std::this_thread::get_id());
    };
    note();
    co_await coracle::sleep_for(1ms);
    note();
    char byte = 0;
    auto receive = [&]() -> task<> { co_await raw_operation(pair.second, io_opcode::receive, &byte, 1); };
    auto send = [&]() -> task<> { co_await raw_operation(pair.first, io_opcode::send, "x", 1); };
    co_await coracle::when_all(receive(), send());
    note();
  };
  io.run(work());
  CHECK(where == std::vector<const coracle::executor*>{3, &io});
  CHECK(threads == std::vector(3, std::this_thread::get_id()));
  CHECK(current_executor() == nullptr);
}

TEST_CASE("io_service::run: an awaitable that is ready at once needs no event") {
  io_service io;
  coracle::async_manual_reset_event set{true};
  io.run(set);
  CHECK(io.process_pending_events() == 0);
}

TEST_CASE("io_service::run: ends where the awaitable ended on another thread, though it slept meanwhile") {
  io_service io;
  coracle::static_thread_pool pool{1};
  const std::atomic<pid_t> runner{::gettid()};
  const auto elsewhere = [&]() -> task<int> {
    co_await pool.schedule();
    coracle_test::wait_until_asleep(runner);
    co_return 5;
  };
  for (int i = 0; i != 20; ++i) CHECK(io.run(elsewhere()) == 5);
}

TEST_CASE("io_service::run: a stop() does not concern it, nor does one from before") {
  io_service io;
  io.stop();
  const auto work = [&]() -> task<int> {
    co_await io.schedule();
    io.stop();
    co_await coracle::sleep_for(1ms);
    co_await io.schedule();
    co_return 1;
  };
  CHECK(io.run(work()) == 1);
  CHECK(io.is_stop_requested());
  CHECK(io.process_events() == 0);
}

TEST_CASE("io_service::run: what else was started stays where it is") {
  io_service io;
  int rounds = 0;
  const auto other = [&]() -> detached {
    co_await io.schedule();
    for (; rounds != 1000; ++rounds) co_await coracle::this_task::yield();
  };
  other();
  const auto work = [&]() -> task<> {
    for (int i = 0; i != 10; ++i) co_await coracle::this_task::yield();
  };
  io.run(work());
  CHECK(rounds > 0);
  CHECK(rounds < 1000);
  io.process_pending_events();
  CHECK(rounds == 1000);
}

TEST_CASE("io_service::run: inside a coroutine that another run() runs") {
  io_service io;
  const auto inner = [&]() -> task<int> {
    co_await io.schedule();
    co_return 2;
  };
  const auto outer = [&]() -> task<int> {
    co_await io.schedule();
    const int got = io.run(inner());
    co_await io.schedule();
    co_return got;
  };
  CHECK(io.run(outer()) == 2);
}

TEST_CASE("io_service::run: a stop() reaches the threads that process events, past the runs that sleep") {
  for (int round = 0; round != 50; ++round) {
    io_service io;
    coracle::async_manual_reset_event ended;
    std::array<std::atomic<pid_t>, 3> ids{};
    std::vector<std::thread> runs;
    for (std::size_t i = 0; i != 2; ++i) {
      runs.emplace_back([&, i] {
        ids[i] = ::gettid();
        io.run(ended);
      });
    }
    std::thread processes{[&] {
      ids[2] = ::gettid();
      io.process_events();
    }};
    if (round % 2 == 0) {
      for (const auto& each : ids) coracle_test::wait_until_asleep(each);
    }
    io.stop();
    processes.join();
    ended.set();
    for (std::thread& each : runs) each.join();
  }
}

TEST_CASE("stop_after: ends a receive that gets nothing; what comes later is still there") {
  io_service io;
  const socket_pair pair{io};
  const auto work = [&]() -> task<char> {
    char byte = 0;
    bool late = false;
    try {
      co_await coracle::stop_after(raw_operation(pair.second, io_opcode::receive, &byte, 1), 2ms);
    } catch (const coracle::operation_cancelled& e) {
      late = e.reason() == coracle::stop_reason::timed_out;
    }
    CHECK(late);
    co_await raw_operation(pair.first, io_opcode::send, "y", 1);
    co_await coracle::stop_after(raw_operation(pair.second, io_opcode::receive, &byte, 1), 10s);
    co_return byte;
  };
  CHECK(io.run(work()) == 'y');
}

TEST_CASE("io_service: destroyed by a coroutine that its own run() runs ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          auto io = std::make_unique<io_service>();
          const auto work = [&]() -> task<> {
            io.reset();
            co_return;
          };
          io->run(work());
        }) ==
        "coracle: an io_service was destroyed by what runs on it, inside its own run() or process_events(), "
        "which goes on with it: end that first\n");
}
}  // namespace
