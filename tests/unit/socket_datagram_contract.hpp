// tests/unit/socket_datagram_contract.hpp -- the contract of UDP sockets; a part of socket_contract.hpp.
// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>

#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/socket.hpp>
#include <string_view>
#include <system_error>

#include "connected_sockets.hpp"

namespace {
TEST_CASE(CORACLE_SOCKET_TEST
          ": recv_from tells the sender, send_to reaches it; an empty datagram arrives as one") {
  service_under_test here;
  io_service& io = here.io;
  socket server = socket::create_udpv4(io), client = socket::create_udpv4(io);
  server.bind(any_port);
  io.run([&]() -> task<> {
    const auto serve = [&]() -> task<> {
      std::array<char, 32> buffer;
      for (const std::size_t wanted : {std::size_t{5}, std::size_t{0}}) {
        const auto [size, from] = co_await server.recv_from(buffer.data(), buffer.size());
        CHECK(size == wanted);
        CHECK(co_await server.send_to(from, buffer.data(), size) == size);
      }
    };
    const auto ask = [&]() -> task<> {
      std::array<char, 32> buffer;
      for (const std::string_view text : {std::string_view{"hello"}, std::string_view{}}) {
        CHECK(co_await client.send_to(server.local_endpoint(), text.data(), text.size()) == text.size());
        const auto [size, from] = co_await client.recv_from(buffer.data(), buffer.size());
        CHECK(std::string_view(buffer.data(), size) == text);
        CHECK(from == server.local_endpoint());
      }
    };
    co_await coracle::when_all(serve(), ask());
  }());
}

TEST_CASE(CORACLE_SOCKET_TEST ": a datagram longer than the buffer is an error, and the next one is intact") {
  service_under_test here;
  io_service& io = here.io;
  socket server = socket::create_udpv4(io), client = socket::create_udpv4(io);
  server.bind(any_port);
  io.run([&]() -> task<> {
    co_await client.connect(server.local_endpoint());
    CHECK(co_await client.send("too long", 8) == 8);
    CHECK(co_await client.send("too long", 8) == 8);
    CHECK(co_await client.send("fits", 4) == 4);
    std::array<char, 4> buffer;
    CHECK(co_await error_of(server.recv_from(buffer.data(), buffer.size())) == std::errc::message_size);
    CHECK(co_await error_of(server.recv(buffer.data(), buffer.size())) == std::errc::message_size);
    CHECK(co_await server.recv(buffer.data(), buffer.size()) == 4);
    CHECK(std::string_view(buffer.data(), 4) == "fits");
  }());
}

TEST_CASE(CORACLE_SOCKET_TEST
          ": a connected UDP socket learns that nobody listens, and disconnect() dissolves it") {
  service_under_test here;
  io_service& io = here.io;
  socket gone = socket::create_udpv4(io), client = socket::create_udpv4(io);
  gone.bind(any_port);
  const ip_endpoint nobody = gone.local_endpoint();
  gone.close();
  io.run([&]() -> task<> {
    co_await client.connect(nobody);
    CHECK(client.remote_endpoint() == nobody);
    CHECK(co_await client.send("x", 1) == 1);
    char byte = 0;
    CHECK(co_await error_of(client.recv(&byte, 1)) == std::errc::connection_refused);
    co_await client.disconnect();
    CHECK(client.remote_endpoint() == ip_endpoint{ipv4_endpoint{}});
    CHECK(co_await error_of(client.send("x", 1)) == std::errc::destination_address_required);
  }());
}

TEST_CASE(CORACLE_SOCKET_TEST ": a datagram is sent from several pieces, and received into several") {
  service_under_test here;
  io_service& io = here.io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(any_port);
  io.run([&]() -> task<> {
    co_await sender.connect(receiver.local_endpoint());
    const const_buffer parts[] = {"one", "two"};
    char first[2] = {}, second[6] = {};
    const mutable_buffer room[] = {{first, 2}, {second, 6}}, little[] = {{first, 2}, {second, 3}};
    CHECK(co_await sender.send(parts) == 6);
    CHECK(co_await receiver.recv(room) == 6);
    CHECK(std::string_view(first, 2) == "on");
    CHECK(std::string_view(second, 4) == "etwo");
    CHECK(co_await sender.send(parts) == 6);
    CHECK(co_await error_of(receiver.recv(little)) == std::errc::message_size);
  }());
}

TEST_CASE(CORACLE_SOCKET_TEST ": TCP and UDP over IPv6") {
  service_under_test here;
  if (!here.has_ipv6()) return;
  io_service& io = here.io;
  socket listener = socket::create_tcpv6(io), client = socket::create_tcpv6(io);
  CHECK(client.local_endpoint() == ip_endpoint{ipv6_endpoint{}});
  listener.bind(ipv6_endpoint{ipv6_address::loopback(), 0});
  listener.listen(1);
  socket udp = socket::create_udpv6(io), sender = socket::create_udpv6(io);
  udp.bind(ipv6_endpoint{ipv6_address::loopback(), 0});
  io.run([&]() -> task<> {
    socket server = socket::create_tcpv6(io);
    co_await coracle::when_all(client.connect(listener.local_endpoint()), listener.accept(server));
    CHECK(server.remote_endpoint() == client.local_endpoint());
    CHECK(server.remote_endpoint().is_ipv6());
    co_await send_all(client, "six");
    CHECK(co_await receive_some(server) == "six");
    CHECK(co_await sender.send_to(udp.local_endpoint(), "abc", 3) == 3);
    std::array<char, 8> buffer;
    const auto [size, from] = co_await udp.recv_from(buffer.data(), buffer.size());
    CHECK(size == 3);
    CHECK(from == ip_endpoint{ipv6_endpoint{ipv6_address::loopback(), sender.local_endpoint().port()}});
  }());
}
}  // namespace
