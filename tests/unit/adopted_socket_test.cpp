// tests/unit/adopted_socket_test.cpp -- sockets of descriptors that others have opened.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/owned_descriptor.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "../support/abort_message.hpp"
#include "connected_sockets.hpp"

namespace {
using coracle::io_service;
using coracle::owned_descriptor;
using coracle::task;
using coracle::net::socket;
using coracle::net::unix_kind;
using coracle::net::unix_socket;
using coracle_test::connected_sockets::any_port;
using coracle_test::connected_sockets::connected;
using coracle_test::connected_sockets::listening;
using coracle_test::connected_sockets::pair;
using coracle_test::connected_sockets::receive_some;
using coracle_test::connected_sockets::send_all;
using coracle_test::connected_sockets::thrown;

/// Another descriptor of `fd`, as a parent process or a message would give it: inherited, and blocking.
owned_descriptor given(int fd) {
  owned_descriptor copy{::dup(fd)};
  ::fcntl(copy.get(), F_SETFL, 0);
  return copy;
}
owned_descriptor opened(int family, int type) { return owned_descriptor{::socket(family, type, 0)}; }

TEST_CASE("socket: an adopted listener accepts, does not block and is not inherited by programs") {
  io_service io;
  socket original = listening(io);
  socket listener = socket::adopt(io, given(original.native_handle()));
  original.close();
  CHECK((::fcntl(listener.native_handle(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(listener.native_handle(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(listener.remote_endpoint().port() == 0);
  socket client = socket::create_tcpv4(io);
  std::string text;
  const auto connect = [&]() -> task<> {
    co_await client.connect(listener.local_endpoint());
    co_await send_all(client, "hello");
  };
  const auto accept = [&]() -> task<> {
    socket server = co_await listener.accept();
    text = co_await receive_some(server);
  };
  io.run(coracle::when_all(connect(), accept()));
  CHECK(text == "hello");
}

TEST_CASE("socket: an adopted connection knows its peer, and sends small pieces at once") {
  io_service io;
  pair ends = connected(io);
  const int off = 0;
  ::setsockopt(ends.server.native_handle(), IPPROTO_TCP, TCP_NODELAY, &off, sizeof off);
  socket server = socket::adopt(io, given(ends.server.native_handle()));
  CHECK(server.remote_endpoint() == ends.client.local_endpoint());
  int on = 0;
  socklen_t size = sizeof on;
  ::getsockopt(server.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, &size);
  CHECK(on != 0);
  const auto echo = [&]() -> task<std::string> {
    co_await send_all(server, "hello");
    co_return co_await receive_some(ends.client);
  };
  CHECK(io.run(echo()) == "hello");
}

TEST_CASE("socket: an adopted UDP socket sends datagrams") {
  io_service io;
  for (const int family : {AF_INET, AF_INET6}) {
    socket udp = socket::adopt(io, opened(family, SOCK_DGRAM));
    CHECK(udp.remote_endpoint().is_ipv4() == (family == AF_INET));
    CHECK(udp.remote_endpoint().port() == 0);
  }
  socket to = socket::create_udpv4(io);
  to.bind(any_port);
  socket from = socket::adopt(io, opened(AF_INET, SOCK_DGRAM));
  const auto pass = [&]() -> task<std::string> {
    co_await from.send_to(to.local_endpoint(), "hello");
    co_return co_await receive_some(to);
  };
  CHECK(io.run(pass()) == "hello");
}

TEST_CASE("unix_socket: an adopted one has its kind, and accepts or carries messages") {
  io_service io;
  for (const unix_kind kind : {unix_kind::stream, unix_kind::datagram, unix_kind::seqpacket}) {
    auto ends = coracle::net::make_unix_pair(io, kind);
    unix_socket end = unix_socket::adopt(io, given(ends.first.native_handle()));
    CHECK((::fcntl(end.native_handle(), F_GETFL) & O_NONBLOCK) != 0);
    CHECK((::fcntl(end.native_handle(), F_GETFD) & FD_CLOEXEC) != 0);
    std::string text(8, '?');
    const auto pass = [&]() -> task<std::size_t> {
      co_await ends.second.send("hello");
      co_return co_await end.recv(text);
    };
    CHECK(io.run(pass()) == 5);
    CHECK(text.starts_with("hello"));
    // A datagram that does not fit is an error, as only a socket that knows its kind reports.
    const auto too_long = [&]() -> task<std::size_t> {
      co_await ends.second.send("hello");
      co_return co_await end.recv(std::span{text}.first(2));
    };
    const std::error_code error = thrown([&] { io.run(too_long()); });
    CHECK(error.value() == (kind == unix_kind::stream ? 0 : EMSGSIZE));
  }
}

TEST_CASE("socket: a TCP connection that came in a message of a Unix socket is adopted") {
  io_service io;
  pair ends = connected(io);
  auto processes = coracle::net::make_unix_pair(io);
  const auto hand_over = [&]() -> task<std::string> {
    const std::array<int, 1> connection{ends.server.native_handle()};
    co_await processes.first.send_message("take it", connection);
    std::array<owned_descriptor, 1> passed;
    std::string text(8, '?');
    co_await processes.second.recv_message(text, passed);
    socket server = socket::adopt(io, std::move(passed[0]));
    co_await send_all(server, "hello");
    co_return co_await receive_some(ends.client);
  };
  CHECK(io.run(hand_over()) == "hello");
}

TEST_CASE("socket: adopt() of something else fails, and closes it") {
  io_service io;
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const owned_descriptor other_end{pipe[1]};
  CHECK(thrown([&] { static_cast<void>(socket::adopt(io, owned_descriptor{pipe[0]})); }) ==
        std::errc::not_a_socket);
  CHECK(::fcntl(pipe[0], F_GETFD) == -1);
  CHECK(thrown([&] { static_cast<void>(unix_socket::adopt(io, given(pipe[1]))); }) ==
        std::errc::not_a_socket);
  CHECK(thrown([&] { static_cast<void>(socket::adopt(io, opened(AF_UNIX, SOCK_STREAM))); }) ==
        std::errc::address_family_not_supported);
  CHECK(thrown([&] { static_cast<void>(unix_socket::adopt(io, opened(AF_INET, SOCK_STREAM))); }) ==
        std::errc::address_family_not_supported);
  CHECK(thrown([&] { static_cast<void>(socket::adopt(io, owned_descriptor{})); }) ==
        std::errc::bad_file_descriptor);
}

TEST_CASE("socket: adopt() on a simulated io_service ends the program") {
  const std::string message = coracle_test::abort_message([] {
    coracle::testing::simulation sim{1};
    coracle::testing::simulated_network network{sim};
    coracle::testing::simulated_host host{network, "10.0.0.1"};
    static_cast<void>(socket::adopt(host.io(), opened(AF_INET, SOCK_STREAM)));
  });
  CHECK(message.find("has no such descriptors") != std::string::npos);
}
}  // namespace
