// tests/unit/io_operation_calls_test.cpp -- each system call, and what it allocates.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <coracle/core/sync_wait.hpp>
#include <coracle/io/detail/io_operation.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/testing/allocations.hpp>
#include <csignal>
#include <cstring>
#include <string>

#include "io_operation_fixture.hpp"

namespace {
using coracle::io_service;
using coracle_test::io_descriptor;
using coracle_test::io_descriptor_kind;
using coracle_test::io_opcode;
using coracle_test::note;
using coracle_test::outcome;
using coracle_test::pipe_ends;
using coracle_test::raw_operation;
using coracle_test::send;
using coracle_test::socket_pair;
using coracle_test::test_coroutine;
using coracle_test::io_operations::address_operation;
using coracle_test::io_operations::loopback;
using coracle_test::io_operations::received;
using coracle_test::io_operations::send_now;

TEST_CASE("io_operation: the end of the stream is a result of 0, a broken one an error, and no SIGPIPE") {
  io_service io;
  socket_pair pair{io};
  outcome at_end, broken;
  auto waiting = received(pair.second, at_end);
  waiting.resume();
  pair.first.close();
  CHECK(io.process_one_event() == 1);
  CHECK(at_end.result == 0);
  coracle::sync_wait(note(send(pair.second, "x", 1), broken));
  CHECK(broken.error == EPIPE);
}

TEST_CASE("io_operation: who waits at one end of a pipe learns that the other end was closed") {
  std::signal(SIGPIPE, SIG_IGN);
  io_service io;
  outcome at_end, broken;
  {
    pipe_ends pipe{io, io_descriptor_kind::pollable};
    const auto read_it = [&]() -> test_coroutine {
      co_await note(raw_operation(pipe.read, io_opcode::read, at_end.buffer, 1), at_end);
    };
    auto reading = read_it();
    reading.resume();
    pipe.write.close();
    CHECK(io.process_one_event() == 1);
  }
  CHECK(at_end.result == 0);
  pipe_ends pipe{io, io_descriptor_kind::pollable};
  const std::string much(1 << 20, 'x');
  const auto write_twice = [&]() -> test_coroutine {
    co_await raw_operation(pipe.write, io_opcode::write, much.data(), much.size());
    co_await note(raw_operation(pipe.write, io_opcode::write, much.data(), much.size()), broken);
  };
  auto writing = write_twice();
  writing.resume();
  CHECK_FALSE(broken.over);
  pipe.read.close();
  CHECK(io.process_one_event() == 1);
  CHECK(broken.error == EPIPE);
  std::signal(SIGPIPE, SIG_DFL);
}

TEST_CASE("io_operation: read and write of a pipe; wait_readable takes nothing") {
  io_service io;
  const pipe_ends pipe{io, io_descriptor_kind::pollable};
  outcome ready, bytes, written;
  const auto read_it = [&]() -> test_coroutine {
    co_await note(raw_operation(pipe.read, io_opcode::wait_readable, &ready, 0), ready);
    co_await note(raw_operation(pipe.read, io_opcode::read, bytes.buffer, 16), bytes);
  };
  auto reading = read_it();
  reading.resume();
  CHECK_FALSE(ready.over);
  coracle::sync_wait(note(raw_operation(pipe.write, io_opcode::write, "pipe", 4), written));
  CHECK(written.result == 4);
  while (!bytes.over) io.process_one_event();  // a ring may take one more for the read
  CHECK(ready.result > 0);
  CHECK(bytes.text() == "pipe");
}

TEST_CASE("io_operation: accept and connect over TCP, and a connection that is refused") {
  io_service io;
  const auto tcp = [&] {
    return io_descriptor{io, ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                         io_descriptor_kind::pollable};
  };
  io_descriptor listener = tcp();
  const io_descriptor client = tcp(), refused = tcp();
  sockaddr_in address = loopback(listener.native_handle()), from{};
  REQUIRE(::listen(listener.native_handle(), 4) == 0);
  std::int64_t accepted = -1, connected = -1, not_connected = 0;
  const auto accept = [&]() -> test_coroutine {
    accepted = co_await address_operation(listener, io_opcode::accept, from);
  };
  const auto connect = [&](const io_descriptor& socket, std::int64_t& result) -> test_coroutine {
    result = co_await address_operation(socket, io_opcode::connect, address);
  };
  auto accepting = accept(), connecting = connect(client, connected);
  accepting.resume();
  CHECK(accepted == -1);
  connecting.resume();
  while (!accepting.done() || !connecting.done()) io.process_one_event();
  CHECK(accepted >= 0);
  CHECK(connected == 0);
  CHECK(from.sin_family == AF_INET);
  CHECK(from.sin_port != 0);
  CHECK((::fcntl(static_cast<int>(accepted), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(static_cast<int>(accepted), F_GETFD) & FD_CLOEXEC) != 0);
  const io_descriptor server{io, static_cast<int>(accepted), io_descriptor_kind::pollable};
  listener.close();
  auto failing = connect(refused, not_connected);
  failing.resume();
  while (!failing.done()) io.process_one_event();
  CHECK(not_connected == -ECONNREFUSED);
}

TEST_CASE("io_operation: a receive that leaves bytes behind urgent data does not hide them") {
  io_service io;
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), client = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(fd);
  REQUIRE(::listen(fd, 1) == 0);
  REQUIRE(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  const io_descriptor server{io, ::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK),
                             io_descriptor_kind::pollable};
  ::close(fd);
  outcome first, second;
  auto waiting = received(server, first);
  waiting.resume();
  REQUIRE(::send(client, "a", 1, 0) == 1);
  REQUIRE(::send(client, "b", 1, MSG_OOB) == 1);
  REQUIRE(::send(client, "c", 1, 0) == 1);
  while (!first.over) io.process_one_event();
  CHECK(first.text() == "a");
  auto receiving = received(server, second);
  receiving.resume();
  while (!second.over) io.process_one_event();
  CHECK(second.text() == "c");
  ::close(client);
}

TEST_CASE("io_operation: a receive of one record leaves the next one to the next receive") {
  io_service io;
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  const io_descriptor one{io, ends[0], io_descriptor_kind::pollable},
      two{io, ends[1], io_descriptor_kind::pollable};
  outcome first, second;
  auto waiting = received(two, first);
  waiting.resume();
  send_now(one, "first");
  send_now(one, "second");
  while (!first.over) io.process_one_event();
  CHECK(first.text() == "first");
  auto receiving = received(two, second);
  receiving.resume();
  while (!second.over) io.process_one_event();
  CHECK(second.text() == "second");
}

TEST_CASE("io_operation: send_to and receive_from over UDP") {
  io_service io;
  const auto udp = [&] {
    return io_descriptor{io, ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                         io_descriptor_kind::pollable};
  };
  const io_descriptor one = udp(), two = udp();
  sockaddr_in first = loopback(one.native_handle()), second = loopback(two.native_handle()), from{};
  char buffer[8] = {};
  std::int64_t received_bytes = -1;
  const auto wait = [&]() -> test_coroutine {
    received_bytes = co_await address_operation(two, io_opcode::receive_from, from, buffer, sizeof buffer);
  };
  auto waiting = wait();
  waiting.resume();
  char text[] = "udp";
  CHECK(coracle::sync_wait(address_operation(one, io_opcode::send_to, second, text, 3)) == 3);
  CHECK(io.process_one_event() == 1);
  CHECK(received_bytes == 3);
  CHECK(std::string(buffer) == "udp");
  CHECK(from.sin_port == first.sin_port);
}

TEST_CASE("io_operation: an io_service or a descriptor for which memory fails leaves nothing behind" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const auto failed = coracle::testing::fail_each_allocation([] {
    try {
      io_service io;
      const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      const io_descriptor held{io, fd, io_descriptor_kind::pollable};
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(failed >= 3);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(fd < 64);  // none of those was left open
  ::close(fd);
}
}  // namespace
