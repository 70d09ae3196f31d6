// tests/unit/io_operation_test.cpp -- one operation over the seam: whether it waits, where it resumes.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/io/detail/io_operation.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "io_operation_fixture.hpp"

namespace {
using coracle::io_service;
using coracle::task;
using coracle_test::io_descriptor;
using coracle_test::io_descriptor_kind;
using coracle_test::io_opcode;
using coracle_test::note;
using coracle_test::outcome;
using coracle_test::raw_operation;
using coracle_test::receive;
using coracle_test::send;
using coracle_test::socket_pair;
using coracle_test::test_coroutine;
using coracle_test::io_operations::received;
using coracle_test::io_operations::send_now;

TEST_CASE("io_operation: what the system can do at once does not suspend") {
  io_service io;
  const socket_pair pair{io};
  send_now(pair.first, "hello");
  outcome seen;
  auto waiting = received(pair.second, seen);
  waiting.resume();
  CHECK(waiting.done());
  CHECK(seen.text() == "hello");
  CHECK(io.process_pending_events() == 0);
}

TEST_CASE("io_operation: suspends until the system is ready, and counts as one event") {
  io_service io;
  const socket_pair pair{io};
  outcome seen;
  auto waiting = received(pair.second, seen);
  waiting.resume();
  CHECK_FALSE(waiting.done());
  CHECK(io.process_pending_events() == 0);
  send_now(pair.first, "hello");
  CHECK_FALSE(waiting.done());
  CHECK(io.process_pending_events() == 1);
  CHECK(waiting.done());
  CHECK(seen.text() == "hello");
}

TEST_CASE("io_operation: each edge is seen, whatever was there before") {
  io_service io;
  const socket_pair pair{io};
  for (int i = 0; i != 10; ++i) {
    outcome seen;
    auto waiting = received(pair.second, seen);
    waiting.resume();
    send_now(pair.first, "a");
    if (i % 2) send_now(pair.first, "b");
    CHECK(io.process_one_event() == 1);
    CHECK(waiting.done());
    CHECK(seen.text() == (i % 2 ? "ab" : "a"));
  }
}

TEST_CASE("io_operation: those that wait to read one descriptor go first come, first served") {
  io_service io;
  const socket_pair pair{io, SOCK_DGRAM};
  outcome seen[3];
  std::vector<test_coroutine> waiting;
  for (outcome& each : seen) waiting.push_back(received(pair.second, each));
  for (test_coroutine& each : waiting) each.resume();
  send_now(pair.first, "1");
  send_now(pair.first, "2");
  CHECK(io.process_pending_events() == 2);
  CHECK(seen[0].text() == "1");
  CHECK(seen[1].text() == "2");
  CHECK_FALSE(seen[2].over);

  outcome late;
  auto latecomer = received(pair.second, late);
  send_now(pair.first, "3");
  latecomer.resume();  // the datagram is there, but not for this one
  CHECK_FALSE(late.over);
  send_now(pair.first, "4");
  CHECK(io.process_pending_events() == 2);
  CHECK(seen[2].text() == "3");
  CHECK(late.text() == "4");
}

TEST_CASE("io_operation: one coroutine reads and another writes the same descriptor") {
  io_service io;
  const socket_pair pair{io};
  const std::string much(1 << 20, 'x');
  std::size_t sent = 0, drained = 0;
  outcome seen;
  auto reading = received(pair.first, seen);
  reading.resume();
  const auto write_all = [&]() -> test_coroutine {
    while (sent != much.size()) {
      const auto n = co_await send(pair.first, much.data() + sent, much.size() - sent);
      sent += static_cast<std::size_t>(n);
    }
  };
  auto writing = write_all();
  writing.resume();
  CHECK_FALSE(writing.done());
  CHECK(sent < much.size());
  CHECK_FALSE(seen.over);
  std::vector<char> buffer(much.size());
  while (drained != much.size()) {
    const ssize_t n = ::recv(pair.second.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n > 0) drained += static_cast<std::size_t>(n);
    io.process_pending_events();
  }
  CHECK(writing.done());
  CHECK_FALSE(seen.over);
  send_now(pair.second, "back");
  CHECK(io.process_one_event() == 1);
  CHECK(seen.text() == "back");
}

TEST_CASE("io_operation: may be moved until it is awaited") {
  io_service io;
  const socket_pair pair{io};
  send_now(pair.first, "ab");
  char first = 0, second = 0;
  const auto [n, m] = coracle::sync_wait(
      coracle::when_all(receive(pair.second, &first, 1), receive(pair.second, &second, 1)));
  CHECK(n + m == 2);
  CHECK(first == 'a');
  CHECK(second == 'b');
}

TEST_CASE("io_operation: outside any executor it resumes on the thread that processes events, outside any") {
  io_service io;
  const socket_pair pair{io};
  outcome seen;
  std::thread::id resumed_on;
  const auto wait = [&]() -> test_coroutine {
    co_await note(receive(pair.second, seen.buffer, 1), seen);
    resumed_on = std::this_thread::get_id();
  };
  auto waiting = wait();
  std::thread{[&] { waiting.resume(); }}.join();
  send_now(pair.first, "x");
  CHECK(io.process_one_event() == 1);
  CHECK(seen.over);
  CHECK(seen.where == nullptr);
  CHECK(resumed_on == std::this_thread::get_id());
}

TEST_CASE("io_operation: on the io_service it resumes there, in one event") {
  io_service io;
  const socket_pair pair{io};
  outcome seen;
  const auto wait = [&]() -> test_coroutine {
    co_await io.schedule();
    co_await note(receive(pair.second, seen.buffer, 1), seen);
  };
  auto waiting = wait();
  waiting.resume();
  CHECK(io.process_pending_events() == 1);
  send_now(pair.first, "x");
  CHECK(io.process_pending_events() == 1);
  CHECK(seen.where == &io);
}

TEST_CASE("io_operation: on another executor it is posted there") {
  io_service io;
  coracle::run_loop loop;
  const socket_pair pair{io};
  outcome seen;
  const auto wait = [&]() -> test_coroutine {
    co_await loop.schedule();
    co_await note(receive(pair.second, seen.buffer, 1), seen);
  };
  auto waiting = wait();
  waiting.resume();
  CHECK(loop.run_one());
  send_now(pair.first, "x");
  CHECK(io.process_pending_events() == 1);
  CHECK_FALSE(seen.over);
  CHECK(loop.run_one());
  CHECK(seen.where == &loop);
}

TEST_CASE("io_operation: on a thread pool it comes back to the pool") {
  io_service io;
  coracle::static_thread_pool pool{2};
  const socket_pair pair{io};
  outcome seen;
  std::thread runner{[&] { io.process_events(); }};
  const auto wait = [&]() -> task<> {
    co_await pool.schedule();
    co_await note(receive(pair.second, seen.buffer, 1), seen);
  };
  const auto feed = [&]() -> task<> {
    co_await io.schedule();
    co_await send(pair.first, "x", 1);
  };
  coracle::sync_wait(coracle::when_all(wait(), feed()));
  io.stop();
  runner.join();
  CHECK(seen.where == &pool);
}

TEST_CASE("io_operation: one that never has to wait lets the others of its loop have their turn") {
  io_service io;
  const socket_pair pair{io};
  int writes = 0, writes_before_other = -1;
  const auto hog = [&]() -> test_coroutine {
    co_await io.schedule();
    for (; writes != 400; ++writes) co_await raw_operation(pair.first, io_opcode::wait_writable, &writes, 0);
  };
  const auto other = [&]() -> test_coroutine {
    co_await io.schedule();
    writes_before_other = writes;
  };
  auto first = hog(), second = other();
  first.resume();
  second.resume();
  io.process_pending_events();
  CHECK(first.done());
  // None at all where the first takes longer than a slice, as in an unoptimised build with a sanitizer.
  CHECK(writes_before_other != -1);
  CHECK(writes_before_other <= 256);
}

TEST_CASE("io_operation: outside any executor, too, one that never has to wait suspends now and then") {
  io_service io;
  const socket_pair pair{io};
  int writes = 0;
  const auto hog = [&]() -> test_coroutine {
    for (; writes != 400; ++writes) co_await raw_operation(pair.first, io_opcode::wait_writable, &writes, 0);
  };
  auto hogging = hog();
  hogging.resume();
  CHECK_FALSE(hogging.done());
  CHECK(io.process_pending_events() > 0);
  CHECK(hogging.done());
}

TEST_CASE("io_operation: an error says what was being done") {
  io_service io;
  const socket_pair pair{io};
  try {
    coracle::sync_wait(raw_operation(pair.first, io_opcode::accept, &io, 0));
    FAIL("accept() of a socket that does not listen");
  } catch (const std::system_error& e) {
    CHECK(e.code() == std::errc::invalid_argument);
    CHECK(std::string(e.what()).find("do what the test wants") == 0);
  }
}

TEST_CASE("io_operation: a descriptor for which there is no memory is closed" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  io_service io;
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  {
    const coracle::testing::failing_allocation failing{1};
    CHECK_THROWS_AS(io_descriptor(io, file, io_descriptor_kind::file), std::bad_alloc);
  }
  CHECK(::fcntl(file, F_GETFD) == -1);
}

static_assert(!std::is_copy_constructible_v<raw_operation> && std::is_move_constructible_v<raw_operation>);
static_assert(std::is_nothrow_move_constructible_v<io_descriptor> &&
              sizeof(io_descriptor) == 2 * sizeof(void*));
static_assert(alignof(raw_operation) <= 16);
}  // namespace
