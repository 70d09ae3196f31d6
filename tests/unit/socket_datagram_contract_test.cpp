// tests/unit/socket_datagram_contract_test.cpp -- the contract of UDP sockets, of the system and of a
// simulated host.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/datagram_batch.hpp>
#include <coracle/net/datagram_segments.hpp>
#include <coracle/net/socket.hpp>
#include <cstddef>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "connected_sockets.hpp"
#include "service_under_test.hpp"

namespace {
using coracle::const_buffer;
using coracle::io_service;
using coracle::mutable_buffer;
using coracle::operation_cancelled;
using coracle::stop_source;
using coracle::task;
using coracle::net::ip_endpoint;
using coracle::net::ipv4_endpoint;
using coracle::net::ipv6_address;
using coracle::net::ipv6_endpoint;
using coracle::net::socket;
using coracle_test::service_under_test;
using coracle_test::connected_sockets::any_port;
using coracle_test::connected_sockets::error_of;
using coracle_test::connected_sockets::receive_some;
using coracle_test::connected_sockets::send_all;

using coracle::net::datagram_batch;
using coracle::net::recv_batch;
using coracle::net::send_batch;

TEST_CASE("socket: recv_from tells the sender, send_to reaches it; an empty datagram arrives as one") {
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

TEST_CASE("socket: send_to and recv_from take text and spans; an error names the destination") {
  service_under_test here;
  io_service& io = here.io;
  socket server = socket::create_udpv4(io), client = socket::create_udpv4(io);
  server.bind(any_port);
  const ip_endpoint to = server.local_endpoint(), none = ipv6_endpoint{ipv6_address::loopback(), 9};
  std::string failure;
  io.run([&]() -> task<> {
    std::array<std::byte, 8> bytes{};
    const std::string text = "text";
    co_await client.send_to(to, text);
    const auto [size, from] = co_await server.recv_from(bytes);
    CHECK(size == text.size());
    co_await server.send_to(from, std::span{bytes}.first(size));
    CHECK(co_await client.recv(bytes) == text.size());
    co_await client.send_to(to, "texts", {});  // a stop token, not a size
    CHECK(std::get<0>(co_await server.recv_from(bytes, {})) == 5);
    co_await client.send_to(to, {text.data(), 3});
    CHECK(std::get<0>(co_await server.recv_from(bytes)) == 3);
    try {
      co_await client.send_to(none, "x");
    } catch (const std::system_error& error) {
      failure = error.what();
    }
  }());
  CHECK(failure == "cannot send to [::1]:9: Address family not supported by protocol");
}

TEST_CASE("socket: a datagram longer than the buffer is an error, and the next one is intact") {
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

TEST_CASE("socket: a connected UDP socket learns that nobody listens, and disconnect() dissolves it") {
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

/// Receives a datagram, and then nothing, as the socket is closed for receiving: while it waits, and before.
task<> receive_until_closed(io_service& io, socket& server, auto receive) {
  socket client = socket::create_udpv4(io);
  client.bind(any_port);
  co_await client.connect(server.local_endpoint());
  co_await server.send_to(client.local_endpoint(), "come");
  CHECK(co_await receive(client) == 4);
  const auto wait = [&]() -> task<> { CHECK(co_await receive(client) == 0); };
  const auto close = [&]() -> task<> {
    co_await io.schedule();
    client.close_recv();
  };
  co_await coracle::when_all(wait(), close());
  co_await wait();
}

TEST_CASE("socket: close_recv() ends what waits for a datagram") {
  service_under_test here;
  io_service& io = here.io;
  socket server = socket::create_udpv4(io);
  server.bind(any_port);
  std::array<char, 8> room;
  const auto recv = [&](socket& from) -> task<std::size_t> { co_return co_await from.recv(room); };
  const auto recv_from = [&](socket& from) -> task<std::size_t> {
    const auto [size, sender] = co_await from.recv_from(room);
    CHECK(sender == server.local_endpoint());
    co_return size;
  };
  const auto recv_parts = [&](socket& from) -> task<std::size_t> {
    const mutable_buffer parts[] = {room};
    co_return co_await from.recv(parts);
  };
  const auto recv_segments = [&](socket& from) -> task<std::size_t> {
    const auto received = co_await coracle::net::recv_segments(from, room);
    CHECK(received.segment_size == received.size);
    co_return received.size;
  };
  const auto receive_batch = [&](socket& from) -> task<std::size_t> {
    datagram_batch batch{2, 8};
    const std::size_t count = co_await recv_batch(from, batch);
    co_return count == 0 ? 0 : batch.bytes(0).size();
  };
  io.run([&]() -> task<> {
    co_await receive_until_closed(io, server, recv);
    co_await receive_until_closed(io, server, recv_from);
    co_await receive_until_closed(io, server, recv_parts);
    co_await receive_until_closed(io, server, recv_segments);
    co_await receive_until_closed(io, server, receive_batch);
  }());
}

TEST_CASE("socket: a datagram is sent from several pieces, and received into several") {
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

std::string text_in(const datagram_batch& batch, std::size_t index) {
  const std::span<const std::byte> bytes = batch.bytes(index);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_CASE("socket: a batch of datagrams is sent with one operation, and received with one") {
  service_under_test here;
  io_service& io = here.io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(any_port);
  sender.bind(any_port);
  io.run([&]() -> task<> {
    datagram_batch sent{3, 10};
    CHECK(sent.capacity() == 3);
    sent.add(receiver.local_endpoint(), "one");
    sent.add(receiver.local_endpoint(), {});
    CHECK(!sent.is_full());
    sent.add(receiver.local_endpoint(), "three long");
    CHECK(sent.is_full());
    CHECK(sent.endpoint(2) == receiver.local_endpoint());
    CHECK(co_await send_batch(sender, sent) == 3);
    CHECK(sent.size() == 0);
    datagram_batch received{5, 4};
    std::size_t count = 0;
    while (count != 3) {
      count += co_await recv_batch(receiver, received);
      if (received.size() != 3) continue;  // they have come one by one
      CHECK(text_in(received, 0) == "one");
      CHECK(text_in(received, 1).empty());
      CHECK(text_in(received, 2) == "thre");
      CHECK(!received.is_cut(0));
      CHECK(received.is_cut(2));
      CHECK(received.endpoint(1) == sender.local_endpoint());
    }
    received.clear();
    CHECK(received.size() == 0);
  }());
}

TEST_CASE("socket: a batch that was received is sent as it is, without the rest of its room") {
  service_under_test here;
  io_service& io = here.io;
  socket server = socket::create_udpv4(io), client = socket::create_udpv4(io);
  server.bind(any_port);
  client.bind(any_port);
  io.run([&]() -> task<> {
    datagram_batch batch{2, 8};
    auto receive = recv_batch(server, batch);
    for (const std::string_view text : {"four", "a long one", "x"}) {
      CHECK(co_await client.send_to(server.local_endpoint(), text) == text.size());
      CHECK(co_await receive == 1);
      CHECK(batch.is_cut(0) == (text.size() > 8));
      CHECK(co_await send_batch(server, batch) == 1);
      CHECK(batch.size() == 0);
      CHECK(co_await receive_some(client) == text.substr(0, 8));
    }
  }());
}

TEST_CASE("socket: sending a batch again sends what remains, and what was added") {
  service_under_test here;
  io_service& io = here.io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(any_port);
  io.run([&]() -> task<> {
    datagram_batch batch{3, 8};
    batch.add(receiver.local_endpoint(), "1");
    auto send = send_batch(sender, batch);
    CHECK(co_await send == 1);
    batch.add(receiver.local_endpoint(), "2");
    batch.add(receiver.local_endpoint(), "3");
    CHECK(co_await send == 2);
    CHECK(batch.size() == 0);
    for (const char* const each : {"1", "2", "3"}) CHECK(co_await receive_some(receiver) == each);
  }());
}

TEST_CASE("datagram_batch: more bytes than there are addresses throw std::bad_alloc") {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  CHECK_THROWS_AS(datagram_batch(1, most), std::bad_alloc);
  CHECK_THROWS_AS(datagram_batch(16, most / 16), std::bad_alloc);
}

TEST_CASE("socket: receiving a batch waits for the first datagram, and not for more") {
  service_under_test here;
  io_service& io = here.io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(any_port);
  stop_source source;
  io.run([&]() -> task<> {
    datagram_batch received{8, 8};
    const auto receive = [&]() -> task<> {
      CHECK(co_await recv_batch(receiver, received) == 1);
      CHECK(text_in(received, 0) == "x");
    };
    const auto send = [&]() -> task<> {
      co_await io.schedule();
      co_await sender.send_to(receiver.local_endpoint(), "x", 1);
    };
    co_await coracle::when_all(receive(), send());
    const auto give_up = [&]() -> task<> {
      bool cancelled = false;
      try {
        co_await recv_batch(receiver, received, source.get_token());
      } catch (const operation_cancelled&) {
        cancelled = true;
      }
      CHECK(cancelled);
    };
    const auto stop = [&]() -> task<> {
      co_await io.schedule();
      source.request_stop();
    };
    co_await coracle::when_all(give_up(), stop());
    CHECK(received.size() == 0);
  }());
}

TEST_CASE(
    "socket: a batch with a datagram that cannot be sent: those before it are, and then it is an error") {
  service_under_test here;
  io_service& io = here.io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(any_port);
  io.run([&]() -> task<> {
    const std::string huge(70'000, 'x');
    datagram_batch sent{3, huge.size()};
    sent.add(receiver.local_endpoint(), "fits");
    sent.add(receiver.local_endpoint(), huge);
    sent.add(receiver.local_endpoint(), "fits too");
    CHECK(co_await send_batch(sender, sent) == 1);
    CHECK(sent.size() == 2);
    CHECK(sent.bytes(0).size() == huge.size());
    CHECK(co_await error_of(send_batch(sender, sent)) == std::errc::message_size);
    CHECK(sent.size() == 2);
    sent.remove_first(1);
    CHECK(text_in(sent, 0) == "fits too");
    datagram_batch moved = std::move(sent);
    CHECK(co_await send_batch(sender, moved) == 1);
    char bytes[8];
    CHECK(co_await receiver.recv(bytes, sizeof bytes) == 4);
    CHECK(co_await receiver.recv(bytes, sizeof bytes) == 8);
  }());
}

/// Makes the system call itself, so that a bug in the library does not look like a machine without IPv6.
bool system_has_ipv6() {
  const int fd = ::socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const bool found = ::bind(fd, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback) == 0;
  ::close(fd);
  if (!found) MESSAGE("IPv6 is NOT tested: this machine has no ::1");
  return found;
}

TEST_CASE("socket: TCP and UDP over IPv6") {
  service_under_test here;
  if (!here.is_simulated() && !system_has_ipv6()) return;
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
