// tests/unit/io_service_test.cpp -- the event loop as a scheduler, its timers, and how it ends.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <coracle/compose/via.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/exec/strand.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <csignal>
#include <latch>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/descriptor_limit.hpp"
#include "../support/detached.hpp"
#include "../support/socket_pair.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::io_service;
using coracle::io_work_scope;
using coracle_test::detached;
using coracle_test::io_descriptor;
using coracle_test::io_descriptor_kind;
using coracle_test::socket_pair;
using coracle_test::test_coroutine;

detached log_on(io_service& io, std::vector<int>& log, int name) {
  co_await io.schedule();
  log.push_back(name);
}

TEST_CASE("io_service: a new one has nothing to do and is not stopped") {
  io_service io;
  CHECK_FALSE(io.is_stop_requested());
  CHECK(io.process_one_pending_event() == 0);
  CHECK(io.process_pending_events() == 0);
  io_service hinted{3};
  CHECK(hinted.process_pending_events() == 0);
}

TEST_CASE("io_service: schedule() suspends; one event is one coroutine; first scheduled, first run") {
  io_service io;
  std::vector<int> log;
  for (int name = 1; name != 5; ++name) log_on(io, log, name);
  CHECK(log.empty());
  CHECK(io.process_one_pending_event() == 1);
  CHECK(log == std::vector{1});
  CHECK(io.process_one_event() == 1);
  CHECK(log == std::vector{1, 2});
  CHECK(io.process_pending_events() == 2);
  CHECK(log == std::vector{1, 2, 3, 4});
}

TEST_CASE("io_service: process_pending_events() also runs what that schedules") {
  io_service io;
  int turns = 0;
  const auto hop = [&]() -> detached {
    for (; turns != 200; ++turns) co_await io.schedule();
  };
  hop();
  CHECK(io.process_pending_events() == 200);
  CHECK(turns == 200);
}

TEST_CASE("io_service: current_executor() is the io_service inside, and what it was before outside") {
  io_service io;
  coracle::executor* seen = nullptr;
  const auto look = [&]() -> detached {
    co_await io.schedule();
    seen = coracle::current_executor();
  };
  look();
  io.process_pending_events();
  CHECK(seen == &io);
  CHECK(coracle::current_executor() == nullptr);
}

TEST_CASE("io_service: a coroutine that is always ready does not keep the loop from looking at the system") {
  io_service io;
  const socket_pair pair{io};
  bool received = false;
  char byte = 0;
  const auto hop = [&]() -> detached {
    while (!received) co_await io.schedule();  // else for ever
  };
  const auto wait = [&]() -> detached {
    co_await coracle_test::receive(pair.second, &byte, 1);
    received = true;
  };
  wait();
  static_cast<void>(::send(pair.first.native_handle(), "x", 1, 0));
  hop();
  io.process_pending_events();
  CHECK(received);
}

TEST_CASE("io_service: what is scheduled from another thread wakes the loop") {
  io_service io;
  int runs = 0;
  const auto run_once = [&]() -> detached {
    co_await io.schedule();
    ++runs;
  };
  for (int i = 0; i != 200; ++i) {
    std::thread poster{[&] { run_once(); }};
    CHECK(io.process_one_event() == 1);
    poster.join();
  }
  CHECK(runs == 200);
}

TEST_CASE("io_service: a signal does not end the wait") {
  struct sigaction ignore{};
  struct sigaction before{};
  ignore.sa_handler = [](int) {};  // and no SA_RESTART: system calls are interrupted
  ::sigaction(SIGUSR1, &ignore, &before);
  io_service io;
  bool ran = false;
  const auto run_once = [&]() -> detached {
    co_await io.schedule();
    ran = true;
  };
  std::uint64_t events = 0;
  std::thread runner{[&] { events = io.process_one_event(); }};
  for (int i = 0; i != 100; ++i) {
    ::pthread_kill(runner.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  run_once();
  runner.join();
  CHECK(ran);
  CHECK(events == 1);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE(
    "io_service: several threads process events, and one that blocks does not hold up what it scheduled") {
  io_service io;
  std::thread threads[2];
  for (std::thread& each : threads) {
    each = std::thread{[&] { io.process_events(); }};
  }
  for (int i = 0; i != 100; ++i) {
    std::latch ran{1}, ended{1};
    const auto other = [&]() -> detached {
      co_await io.schedule();
      ran.count_down();
    };
    const auto blocks = [&]() -> detached {
      co_await io.schedule();
      other();
      ran.wait();
      ended.count_down();
    };
    blocks();
    ended.wait();
  }
  io.stop();
  for (std::thread& each : threads) each.join();
}

TEST_CASE("io_service: an exception that leaves a coroutine's promise loses none of the others") {
  io_service io;
  std::vector<int> log;
  const auto fail = [&]() -> test_coroutine {
    co_await io.schedule();
    throw std::runtime_error("out of the loop");
  };
  auto failing = fail();
  log_on(io, log, 1);
  failing.resume();
  log_on(io, log, 2);
  CHECK_THROWS_AS(io.process_events(), std::runtime_error);
  CHECK(coracle::current_executor() == nullptr);
  CHECK(io.process_pending_events() == 1);
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("io_service: stop() lets process_events() return after the current event; reset() lets it go on") {
  io_service io;
  std::vector<int> log;
  const auto stop = [&]() -> detached {
    co_await io.schedule();
    log.push_back(1);
    io.stop();
  };
  stop();
  log_on(io, log, 2);
  CHECK(io.process_events() == 1);
  CHECK(io.is_stop_requested());
  CHECK(io.process_events() == 0);
  CHECK(io.process_pending_events() == 0);
  CHECK(io.process_one_event() == 0);
  CHECK(io.process_one_pending_event() == 0);
  CHECK(log == std::vector{1});
  io.reset();
  CHECK_FALSE(io.is_stop_requested());
  CHECK(io.process_pending_events() == 1);
  CHECK(log == std::vector{1, 2});
}

TEST_CASE("io_service: stop() ends the wait of every thread, also beside one that waits for one event only") {
  for (int i = 0; i != 50; ++i) {
    io_service io;
    std::vector<std::thread> threads;
    for (int t = 0; t != 3; ++t) threads.emplace_back([&] { io.process_events(); });
    threads.emplace_back([&] { io.process_one_event(); });
    std::vector<int> log;
    log_on(io, log, 1);
    io.stop();
    for (std::thread& each : threads) each.join();
    io.reset();
    io.process_pending_events();
    CHECK(log == std::vector{1});
  }
}

TEST_CASE("io_service: the last piece of work stops it") {
  io_service io;
  {
    const io_work_scope scope{io};
    io_work_scope copy{scope}, moved{std::move(copy)};
    CHECK(&moved.service() == &io);
    moved = io_work_scope{io};
    swap(moved, copy);
    CHECK_FALSE(io.is_stop_requested());
  }
  CHECK(io.is_stop_requested());
  io.reset();
  const auto work = [&]() -> detached {
    const io_work_scope scope{io};
    co_await io.schedule();
    co_await io.schedule_after(1us);
  };
  work();
  CHECK(io.process_events() == 2);
}

TEST_CASE("io_service: the last piece of work that ends on another thread ends the loop's wait") {
  for (int i = 0; i != 50; ++i) {
    io_service io;
    std::latch running{1};
    const auto announce = [&]() -> detached {
      co_await io.schedule();
      running.count_down();
    };
    announce();
    std::optional<io_work_scope> scope{io};
    std::thread runner{[&] { io.process_events(); }};
    running.wait();  // the loop has nothing left to do now but to wait
    scope.reset();
    runner.join();
    CHECK(io.is_stop_requested());
  }
}

TEST_CASE(
    "io_service: may be destroyed as soon as the last coroutine has run and process_events() has returned") {
  for (int i = 0; i != 200; ++i) {
    std::optional<io_service> io{std::in_place};
    std::thread poster;
    const auto stop = [&]() -> detached {
      co_await io->schedule();
      io->stop();
    };
    poster = std::thread{[&] { stop(); }};
    io->process_events();
    io.reset();  // the poster may still be on its way out of schedule()
    poster.join();
  }
}

// The static guarantees of the header.
static_assert(coracle::scheduler<io_service>);
static_assert(!std::is_copy_constructible_v<io_service> && !std::is_move_constructible_v<io_service>);
static_assert(noexcept(std::declval<io_service&>().schedule()) &&
              noexcept(std::declval<io_service&>().stop()) &&
              noexcept(std::declval<io_service&>().schedule_after(std::declval<std::chrono::seconds>())) &&
              noexcept(std::declval<io_service&>().post(std::declval<coracle::resumption&>())));
static_assert(std::is_nothrow_move_constructible_v<io_service::timed_schedule_operation>);
static_assert(alignof(io_service::timed_schedule_operation) <= 16);

/// The number of the next descriptor that this process opens.
int next_descriptor() {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(fd);
  return fd;
}

/// Destroys the scheduler while a coroutine that suspended there waits for an event, and wakes it.
template <class Scheduler, class LetWait, class... Args>
void wake_after_the_end_of(LetWait let_wait, Args&&... args) {
  coracle::async_manual_reset_event event;
  std::optional<Scheduler> place(std::in_place, args...);
  const auto wait = [&event]() -> coracle::task<> { co_await event; };
  coracle_test::run_detached_on(*place, wait());
  let_wait(*place);
  place.reset();
  event.set();
}
TEST_CASE("a coroutine is woken on a scheduler that was destroyed: ends the program and says so") {
  const char* const expected =
      "coracle: a coroutine was woken on a scheduler that was destroyed while it waited: end everything that "
      "runs on a scheduler before it is destroyed\n";
  CHECK(coracle_test::abort_message([] {
          wake_after_the_end_of<io_service>([](io_service& place) { place.process_pending_events(); });
        }) == expected);
  CHECK(coracle_test::abort_message([] {
          wake_after_the_end_of<coracle::run_loop>([](coracle::run_loop& place) { place.run_pending(); });
        }) == expected);
  CHECK(coracle_test::abort_message([] {
          coracle::run_loop loop;
          wake_after_the_end_of<coracle::strand>([&](coracle::strand&) { loop.run_pending(); }, loop);
        }) == expected);
  CHECK(coracle_test::abort_message([] {
          const auto take_turns = []() -> coracle::task<> {
            for (int turn = 0; turn != 3; ++turn) co_await coracle::this_task::yield();
          };
          wake_after_the_end_of<coracle::static_thread_pool>(
              [&](coracle::static_thread_pool& place) {
                coracle::sync_wait(coracle::schedule_on(take_turns(), place));
              },
              1);
        }) == expected);
}

TEST_CASE("io_service: run() of a task that is empty, or whose result was given, ends the program") {
  CHECK(coracle_test::abort_message([] {
          io_service io;
          io.run(coracle::task<int>());
        }) ==
        "coracle: an empty task was awaited: it was awaited before, moved from, or never held a coroutine\n");
  CHECK(coracle_test::abort_message([] {
          io_service io;
          coracle::task<> once = [](io_service& on) -> coracle::task<> { co_await on.schedule(); }(io);
          io.run(once.when_ready());
          io.run(std::move(once));
          io.run(once.when_ready());
          io.run(std::move(once));
        }) == "coracle: a task was awaited twice: its result has been moved out; a shared_task keeps it\n");
}

TEST_CASE("io_service: it needs no descriptors for what need not wait") {
  const int before = next_descriptor();
  int within = 0;
  io_service io;
  const auto hop = [&]() -> coracle::task<> {
    co_await io.schedule();
    co_await io.schedule_at({});
    within = next_descriptor();
  };
  io.run(hop());
  CHECK(within == before);
}

TEST_CASE(
    "io_service: without descriptors left in the process it waits all the same; its sockets are refused") {
  io_service io;
  int hops = 0;
  const auto hop = [&]() -> coracle::task<> {
    co_await io.schedule_after(std::chrono::milliseconds(1));
    ++hops;
  };
  const auto stop_there = [&]() -> detached {
    co_await io.schedule();
    io.stop();
  };
  {
    const coracle_test::descriptor_limit none{0};
    io.run(hop());
    std::thread poster{[&] { stop_there(); }};
    io.process_events();
    poster.join();
    io.reset();
  }
  CHECK(hops == 1);
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  {
    const coracle_test::descriptor_limit none{0};
    const auto watch = [&] { return io_descriptor{io, ends[0], io_descriptor_kind::pollable}; };
    CHECK_THROWS_AS(static_cast<void>(watch()), std::system_error);
  }
  const io_descriptor watched{io, ends[1], io_descriptor_kind::pollable};
  io.run(hop());
  CHECK(hops == 2);
}
}  // namespace
