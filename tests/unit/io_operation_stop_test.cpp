// tests/unit/io_operation_stop_test.cpp -- operations that are stopped, or whose coroutine is destroyed.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/io/detail/io_operation.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "io_operation_fixture.hpp"

namespace {
using coracle::io_service;
using coracle::stop_source;
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
using coracle_test::io_operations::loopback;
using coracle_test::io_operations::received;
using coracle_test::io_operations::send_now;

TEST_CASE("io_operation: stop requested before: cancelled, without suspending, and nothing is read") {
  io_service io;
  const socket_pair pair{io};
  send_now(pair.first, "hello");
  stop_source source;
  source.request_stop();
  outcome seen, later;
  auto waiting = received(pair.second, seen, source.get_token());
  waiting.resume();
  CHECK(waiting.done());
  CHECK(seen.cancelled);
  coracle::sync_wait(note(receive(pair.second, later.buffer, 5), later));
  CHECK(later.text() == "hello");
}

TEST_CASE("io_operation: stop requested during: the loop ends it, not request_stop()") {
  io_service io;
  const socket_pair pair{io};
  stop_source source;
  outcome seen;
  auto waiting = received(pair.second, seen, source.get_token());
  waiting.resume();
  source.request_stop();
  CHECK_FALSE(seen.over);
  CHECK(io.process_pending_events() == 1);
  CHECK(seen.cancelled);
  send_now(pair.first, "for the next");
  outcome next;
  coracle::sync_wait(note(receive(pair.second, next.buffer, 12), next));
  CHECK(next.text() == "for the next");
}

TEST_CASE("io_operation: stop requested after: no effect") {
  io_service io;
  const socket_pair pair{io};
  stop_source source;
  outcome seen;
  send_now(pair.first, "x");
  coracle::sync_wait(note(receive(pair.second, seen.buffer, 1, source.get_token()), seen));
  source.request_stop();
  CHECK(io.process_pending_events() == 0);
  CHECK(seen.text() == "x");
}

TEST_CASE("io_operation: what was read when stop was requested is delivered") {
  io_service io;
  const socket_pair one{io}, two{io};
  stop_source source;
  outcome first, second;
  // The same poll completes both; the one that is delivered first stops the other.
  const auto wait = [&](const io_descriptor& from, outcome& seen) -> test_coroutine {
    co_await note(receive(from, seen.buffer, 1, source.get_token()), seen);
    source.request_stop();
  };
  auto a = wait(one.second, first), b = wait(two.second, second);
  a.resume();
  b.resume();
  send_now(one.first, "1");
  send_now(two.first, "2");
  CHECK(io.process_pending_events() == 2);
  CHECK(first.text() == "1");
  CHECK(second.text() == "2");
}

TEST_CASE("io_operation: stopping one in the middle of the queue leaves its neighbours alone") {
  io_service io;
  const socket_pair pair{io, SOCK_DGRAM};
  for (std::size_t stopped = 0; stopped != 3; ++stopped) {
    CAPTURE(stopped);
    stop_source sources[3];
    outcome seen[3];
    std::vector<test_coroutine> waiting;
    for (std::size_t i = 0; i != 3; ++i) {
      waiting.push_back(received(pair.second, seen[i], sources[i].get_token()));
      waiting[i].resume();
    }
    sources[stopped].request_stop();
    CHECK(io.process_pending_events() == 1);
    CHECK(seen[stopped].cancelled);
    send_now(pair.first, "1");
    send_now(pair.first, "2");
    CHECK(io.process_pending_events() == 2);
    CHECK(seen[stopped == 0 ? 1 : 0].text() == "1");
    CHECK(seen[stopped == 2 ? 1 : 2].text() == "2");
  }
}

TEST_CASE("io_operation: takes the inherited token where none is given") {
  io_service io;
  const socket_pair pair{io};
  stop_source inherited, given;
  outcome with_none, with_one;
  const auto start = [&](raw_operation operation, outcome& seen) -> test_coroutine {
    co_await coracle::with_stop(note(std::move(operation), seen), inherited.get_token());
  };
  auto first = start(receive(pair.first, with_none.buffer, 1), with_none);
  auto second = start(receive(pair.second, with_one.buffer, 1, given.get_token()), with_one);
  first.resume();
  second.resume();
  inherited.request_stop();
  CHECK(io.process_pending_events() == 1);
  CHECK(with_none.cancelled);
  CHECK_FALSE(with_one.over);
  given.request_stop();
  CHECK(io.process_pending_events() == 1);
  CHECK(with_one.cancelled);
}

TEST_CASE("io_operation: stop requested while its loop sleeps wakes the loop") {
  io_service io;
  const socket_pair pair{io};
  for (int i = 0; i != 50; ++i) {
    stop_source source;
    outcome seen;
    auto waiting = received(pair.second, seen, source.get_token());
    waiting.resume();
    std::thread stopper{[&] { source.request_stop(); }};
    CHECK(io.process_one_event() == 1);
    stopper.join();
    CHECK(seen.cancelled);
  }
}

TEST_CASE("io_operation: a coroutine destroyed while it waits is taken out") {
  io_service io;
  const socket_pair pair{io, SOCK_DGRAM};
  stop_source source;
  outcome first, second;
  auto gone = received(pair.second, first, source.get_token()), stays = received(pair.second, second);
  gone.resume();
  stays.resume();
  gone.destroy();
  source.request_stop();
  send_now(pair.first, "x");
  CHECK(io.process_pending_events() == 1);
  CHECK_FALSE(first.over);
  CHECK(second.text() == "x");
}

TEST_CASE(
    "io_operation: a coroutine destroyed when its operation is over, but not delivered, is not resumed") {
  io_service io;
  const socket_pair one{io}, two{io};
  outcome first, second;
  std::optional<test_coroutine> waiting[2];
  const auto wait = [&](const io_descriptor& from, outcome& seen, int other) -> test_coroutine {
    co_await note(receive(from, seen.buffer, 1), seen);
    waiting[other]->destroy();
  };
  waiting[0].emplace(wait(one.second, first, 1));
  waiting[1].emplace(wait(two.second, second, 0));
  waiting[0]->resume();
  waiting[1]->resume();
  send_now(one.first, "1");
  send_now(two.first, "2");
  CHECK(io.process_pending_events() == 1);
  CHECK(first.over != second.over);
}

TEST_CASE("io_operation: a connection that was accepted for a coroutine destroyed meanwhile is closed") {
  io_service io;
  const socket_pair pair{io};
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(listening);
  REQUIRE(::listen(listening, 1) == 0);
  const io_descriptor listener{io, listening, io_descriptor_kind::pollable};
  outcome accepting, first;
  const auto accept = [&]() -> test_coroutine {
    co_await note(raw_operation(listener, io_opcode::accept, &accepting, 0), accepting);
  };
  auto waiting = accept();
  const auto destroy_it = [&]() -> test_coroutine {
    co_await note(receive(pair.second, first.buffer, 1), first);
    waiting.destroy();
  };
  auto destroying = destroy_it();
  waiting.resume();
  destroying.resume();
  CHECK(io.process_pending_events() == 0);  // both wait in the system
  // One poll finds both, this one first.
  send_now(pair.first, "x");
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(io.process_pending_events() == 1);
  CHECK(first.over);
  CHECK_FALSE(accepting.over);
  pollfd at_end{client, POLLIN, 0};
  CHECK(::poll(&at_end, 1, 0) == 1);  // the other end has been closed
  ::close(client);
}

TEST_CASE("io_operation: destroyed on the way to its executor ends the program and says so") {
  const std::string said = coracle_test::abort_message([] {
    io_service io;
    coracle::run_loop loop;
    const socket_pair pair{io};
    char byte = 0;
    const auto wait = [&]() -> test_coroutine {
      co_await loop.schedule();
      co_await receive(pair.second, &byte, 1);
    };
    auto waiting = wait();
    waiting.resume();
    loop.run_one();
    static_cast<void>(::send(pair.first.native_handle(), "x", 1, 0));
    io.process_one_event();
    waiting.destroy();
  });
  CHECK(said.find("coracle: a coroutine was destroyed while it was on its way to its executor") == 0);
}

TEST_CASE("io_operation: a descriptor closed under it ends the program and says so") {
  const std::string said = coracle_test::abort_message([] {
    io_service io;
    socket_pair pair{io};
    outcome seen;
    auto waiting = received(pair.second, seen);
    waiting.resume();
    pair.second.close();
  });
  CHECK(said ==
        "coracle: a file or socket was closed while operations on it were pending: request their stop and "
        "let them "
        "end first\n");
}

TEST_CASE("io_operation: an io_service destroyed before its sockets ends the program and says so") {
  const std::string said = coracle_test::abort_message([] {
    std::optional<io_service> io{std::in_place};
    const socket_pair pair{*io};
    io.reset();
  });
  CHECK(said ==
        "coracle: an io_service was destroyed before its files and sockets: let their operations end and "
        "close them "
        "first\n");
}

TEST_CASE("io_operation: an operation allocates nothing, ready, waiting or stopped" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  io_service io;
  const socket_pair pair{io};
  stop_source source;
  char byte = 0;
  bool stopped = false;
  const auto work = [&]() -> test_coroutine {
    co_await io.schedule();
    for (int i = 0; i != 100; ++i) {
      co_await send(pair.first, &byte, 1);
      co_await receive(pair.second, &byte, 1, source.get_token());
    }
    co_await receive(pair.second, &byte, 1, source.get_token());
    const std::int64_t result =
        co_await raw_operation(pair.second, io_opcode::wait_writable, &byte, 0, source.get_token());
    stopped = result != 0;
  };
  auto working = work();
  const auto before = coracle::testing::allocations();
  working.resume();
  io.process_pending_events();
  static_cast<void>(::send(pair.first.native_handle(), "x", 1, 0));
  io.process_pending_events();
  const auto after = coracle::testing::allocations();
  CHECK(working.done());
  CHECK(stopped);
  CHECK(after == before);
}
}  // namespace
