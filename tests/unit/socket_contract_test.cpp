// tests/unit/socket_contract_test.cpp -- the contract of every socket, of the system and of a simulated host.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/socket.hpp>
#include <system_error>
#include <utility>

#include "connected_sockets.hpp"
#include "service_under_test.hpp"

namespace {
using coracle::io_service;
using coracle::task;
using coracle::net::ip_endpoint;
using coracle::net::ipv4_endpoint;
using coracle::net::socket;
using coracle_test::service_under_test;
using coracle_test::connected_sockets::any_port;
using coracle_test::connected_sockets::connected;
using coracle_test::connected_sockets::listening;
using coracle_test::connected_sockets::pair;
using coracle_test::connected_sockets::receive_all;
using coracle_test::connected_sockets::receive_some;
using coracle_test::connected_sockets::send_all;
using coracle_test::connected_sockets::thrown;

TEST_CASE("socket: port 0 binds to a free port, and local_endpoint() tells which") {
  service_under_test here;
  io_service& io = here.io;
  socket tcp = socket::create_tcpv4(io), udp = socket::create_udpv4(io);
  tcp.bind(any_port);
  udp.bind(any_port);
  CHECK(tcp.local_endpoint().port() != 0);
  CHECK(udp.local_endpoint().port() != 0);
  CHECK(udp.local_endpoint().address() == any_port.address());
}

TEST_CASE("socket: a port that is listened on, or a UDP port in use, cannot be bound again") {
  service_under_test here;
  io_service& io = here.io;
  const socket first = listening(io);
  socket second = socket::create_tcpv4(io);
  CHECK(thrown([&] { second.bind(first.local_endpoint()); }) == std::errc::address_in_use);
  socket udp = socket::create_udpv4(io), other = socket::create_udpv4(io);
  udp.bind(any_port);
  CHECK(thrown([&] { other.bind(udp.local_endpoint()); }) == std::errc::address_in_use);
}

TEST_CASE("socket: a server can be bound again at once, while its old connections linger in the kernel") {
  service_under_test here;
  io_service& io = here.io;
  ip_endpoint address;
  {
    socket listener = listening(io);
    address = listener.local_endpoint();
    socket client = socket::create_tcpv4(io), server = socket::create_tcpv4(io);
    io.run([&]() -> task<> {
      co_await coracle::when_all(client.connect(address), listener.accept(server));
      server.close_send();  // the side that closes first is the one that lingers
      CHECK((co_await receive_all(client)).empty());
      client.close_send();
      CHECK((co_await receive_all(server)).empty());
    }());
  }
  socket again = socket::create_tcpv4(io);
  again.bind(address);
  again.listen();
  CHECK(again.local_endpoint() == address);
}

TEST_CASE("socket: both ends of a connection know their own endpoint and the other's") {
  service_under_test here;
  io_service& io = here.io;
  const pair ends = connected(io);
  CHECK(ends.client.local_endpoint() == ends.server.remote_endpoint());
  CHECK(ends.client.remote_endpoint() == ends.server.local_endpoint());
  CHECK(ends.client.local_endpoint().port() != 0);
}

TEST_CASE("socket: moving it moves the connection, assigning to it closes the one it had") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  pair others = connected(io);
  const ip_endpoint address = ends.client.local_endpoint();
  socket moved = std::move(ends.client);
  CHECK(moved.local_endpoint() == address);
  others.client = std::move(moved);
  CHECK(others.client.local_endpoint() == address);
  io.run([&]() -> task<> {
    CHECK((co_await receive_all(others.server)).empty());  // the end of what was assigned to
    co_await send_all(others.client, "hello");
    CHECK(co_await receive_some(ends.server) == "hello");
  }());
}

TEST_CASE("socket: after close() it is an error to bind or to listen, and closing again is none") {
  service_under_test here;
  io_service& io = here.io;
  socket tcp = socket::create_tcpv4(io);
  tcp.close();
  tcp.close();
  CHECK(tcp.native_handle() == -1);
  CHECK(tcp.local_endpoint() == ip_endpoint{ipv4_endpoint{}});
  CHECK(thrown([&] { tcp.bind(any_port); }) == std::errc::bad_file_descriptor);
  CHECK(thrown([&] { tcp.listen(); }) == std::errc::bad_file_descriptor);
}
}  // namespace
