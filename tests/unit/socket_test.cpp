// tests/unit/socket_test.cpp -- TCP and UDP over the loopback interface: what is specific to Linux. The
// socket_*contract_test.cpp have what holds for a simulated host too.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/testing/allocations.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/descriptor_limit.hpp"
#include "../support/detached.hpp"
#include "../support/test_coroutine.hpp"
#include "connected_sockets.hpp"

namespace {
using coracle::io_service;
using coracle::task;
using coracle::net::ip_endpoint;
using coracle::net::ipv4_endpoint;
using coracle::net::socket;
using coracle_test::detached;
using coracle_test::connected_sockets::connected;
using coracle_test::connected_sockets::error_of;
using coracle_test::connected_sockets::listening;
using coracle_test::connected_sockets::pair;
using coracle_test::connected_sockets::receive_some;
using coracle_test::connected_sockets::send_all;

// ---- endpoints and options -----------------------------------------------------------------------------

TEST_CASE("socket: a new one is of its family, unbound, does not block and is not inherited by programs") {
  io_service io;
  for (const socket& each : {socket::create_tcpv4(io), socket::create_udpv4(io)}) {
    CHECK(each.local_endpoint() == ip_endpoint{ipv4_endpoint{}});
    CHECK(each.remote_endpoint() == ip_endpoint{ipv4_endpoint{}});
    CHECK((::fcntl(each.native_handle(), F_GETFL) & O_NONBLOCK) != 0);
    CHECK((::fcntl(each.native_handle(), F_GETFD) & FD_CLOEXEC) != 0);
  }
}

TEST_CASE("socket: an accepted one does not block and is not inherited by programs either") {
  io_service io;
  const pair ends = connected(io);
  CHECK((::fcntl(ends.server.native_handle(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(ends.server.native_handle(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("socket: both ends of a TCP connection send small pieces at once") {
  io_service io;
  const pair ends = connected(io);
  for (const socket* each : {&ends.client, &ends.server}) {
    int on = 0;
    socklen_t size = sizeof on;
    REQUIRE(::getsockopt(each->native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, &size) == 0);
    CHECK(on != 0);
  }
}

// ---- TCP -----------------------------------------------------------------------------------------------

TEST_CASE("socket: what accept() puts into a socket stays with the io_service of that socket") {
  io_service io, other;
  socket listener = listening(io), client = socket::create_tcpv4(io), server = socket::create_tcpv4(other),
         closed = socket::create_tcpv4(other);
  closed.close();
  io.run([&]() -> task<> {
    co_await coracle::when_all(client.connect(listener.local_endpoint()), listener.accept(server));
  }());
  other.run([&]() -> task<> {
    std::string received;
    const auto receive = [&]() -> task<> { received = co_await receive_some(server); };
    const auto send = [&]() -> task<> {
      CHECK(::send(client.native_handle(), "x", 1, 0) == 1);
      co_return;
    };
    co_await coracle::when_all(receive(), send());
    CHECK(received == "x");
  }());
  socket second = socket::create_tcpv4(io);
  io.run([&]() -> task<> {
    co_await coracle::when_all(second.connect(listener.local_endpoint()), listener.accept(closed));
    co_await send_all(second, "y");
    CHECK(co_await receive_some(closed) == "y");
  }());
}

TEST_CASE("socket: without a free descriptor accept is an error, and the connection is there afterwards") {
  io_service io;
  socket listener = listening(io), client = socket::create_tcpv4(io), server = socket::create_tcpv4(io);
  io.run([&]() -> task<> { co_await client.connect(listener.local_endpoint()); }());
  std::error_code error;
  io.run([&]() -> task<> {
    const coracle_test::descriptor_limit none{0};
    error = co_await error_of(listener.accept(server));
  }());
  CHECK(error == std::errc::too_many_files_open);
  io.run([&]() -> task<> { co_await listener.accept(server); }());
  CHECK(server.remote_endpoint() == client.local_endpoint());
}

// ---- where it resumes, lifetime, cost ------------------------------------------------------------------

TEST_CASE("socket: a coroutine resumes on the executor where it waited") {
  io_service io;
  coracle::run_loop loop;
  pair ends = connected(io);
  bool received = false;
  const auto receive = [&]() -> detached {
    co_await loop.schedule();
    char byte = 0;
    CHECK(co_await ends.server.recv(&byte, 1) == 1);
    received = coracle::current_executor() == &loop;
  };
  receive();
  CHECK(loop.run_one());
  io.run([&]() -> task<> { co_await send_all(ends.client, "x"); }());
  io.reset();
  while (io.process_one_pending_event() != 0) continue;
  CHECK_FALSE(received);
  CHECK(loop.run_one());
  CHECK(received);
}

TEST_CASE("socket: outside any executor it resumes on the thread that processes events") {
  io_service io;
  pair ends = connected(io);
  std::thread::id resumed_on;
  const auto receive = [&]() -> task<> {
    char byte = 0;
    co_await ends.server.recv(&byte, 1);
    resumed_on = std::this_thread::get_id();
  };
  io.reset();
  std::thread runner([&] { io.process_events(); });
  const auto send = [&]() -> task<> { co_await send_all(ends.client, "x"); };
  coracle::sync_wait(coracle::when_all(receive(), send()));
  const std::thread::id runner_id = runner.get_id();
  io.stop();
  runner.join();
  CHECK(resumed_on == runner_id);
}

TEST_CASE("socket: closed while an operation waits ends the program and says so") {
  const std::string message = coracle_test::abort_message([] {
    io_service io;
    char byte = 0;
    socket udp = socket::create_udpv4(io);
    const auto waiting = coracle_test::started(udp.recv(&byte, 1));
    udp.close();
  });
  CHECK(message.find("closed while operations on it were pending") != std::string::npos);
}

TEST_CASE("socket: operations that wait and operations that do not allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  io_service io;
  pair ends = connected(io);
  std::size_t allocated = 0;
  const auto echo = [&]() -> task<> {
    char byte = 0;
    for (int i = 0; i != 20; ++i) {
      co_await ends.server.recv(&byte, 1);
      co_await ends.server.send(&byte, 1);
    }
  };
  const auto ask = [&]() -> task<> {
    char byte = 0;
    const auto before = coracle::testing::allocations();
    for (int i = 0; i != 20; ++i) {
      co_await ends.client.send(&byte, 1);
      co_await ends.client.recv(&byte, 1);
    }
    allocated = coracle::testing::allocations() - before;
  };
  io.run([&]() -> task<> { co_await coracle::when_all(echo(), ask()); }());
  CHECK(allocated == 0);
}

static_assert(!std::is_copy_constructible_v<socket> && std::is_nothrow_move_constructible_v<socket> &&
              std::is_nothrow_move_assignable_v<socket> && !std::is_default_constructible_v<socket>);
static_assert(std::is_same_v<coracle::await_result_t<coracle::net::socket_accept_new_operation>, socket>);
static_assert(sizeof(socket) <= 48);
}  // namespace
