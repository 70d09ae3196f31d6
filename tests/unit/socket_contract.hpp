// tests/unit/socket_contract.hpp -- what holds for every socket, of the system as of a simulated host.
// Whoever includes it has defined CORACLE_SOCKET_TEST, how the names of the tests begin, and service_under_test, which
// has an io_service `io`, or a reference to one, and says whether it has_ipv6().
// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/socket.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/detached.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::io_service;
using coracle::operation_cancelled;
using coracle::stop_source;
using coracle::task;
using coracle::net::ip_endpoint;
using coracle::net::ipv4_address;
using coracle::net::ipv4_endpoint;
using coracle::net::ipv6_address;
using coracle::net::ipv6_endpoint;
using coracle::net::socket;
using coracle_test::detached;

const ip_endpoint any_port{ipv4_endpoint{ipv4_address::loopback(), 0}};

socket listening(io_service& io) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(any_port);
  listener.listen();
  return listener;
}
struct pair {
  socket client;
  socket server;
};
/// Two ends of one connection.
pair connected(io_service& io) {
  socket listener = listening(io);
  pair ends{socket::create_tcpv4(io), socket::create_tcpv4(io)};
  const auto connect = [&]() -> task<> { co_await ends.client.connect(listener.local_endpoint()); };
  const auto accept = [&]() -> task<> { co_await listener.accept(ends.server); };
  io.run([&]() -> task<> { co_await coracle::when_all(connect(), accept()); }());
  return ends;
}

task<> send_all(socket& to, std::string_view text) {
  while (!text.empty()) text.remove_prefix(co_await to.send(text.data(), text.size()));
}
task<std::string> receive_all(socket& from) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const std::size_t size = co_await from.recv(buffer.data(), buffer.size());
    if (size == 0) co_return text;
    text.append(buffer.data(), size);
  }
}
task<std::string> receive_some(socket& from) {
  std::array<char, 64> buffer;
  const std::size_t size = co_await from.recv(buffer.data(), buffer.size());
  co_return std::string(buffer.data(), size);
}

/// Awaits `work` and gives the error it ends in; the empty one if it succeeds.
template <class Awaitable>
task<std::error_code> error_of(Awaitable work) {
  try {
    static_cast<void>(co_await std::move(work));
  } catch (const std::system_error& error) {
    co_return error.code();
  }
  co_return std::error_code{};
}
/// The error that plain code throws.
template <class Body>
std::error_code thrown(Body body) {
  try {
    body();
  } catch (const std::system_error& error) {
    return error.code();
  }
  return std::error_code{};
}

TEST_CASE(CORACLE_SOCKET_TEST ": port 0 binds to a free port, and local_endpoint() tells which") {
  service_under_test here;
  io_service& io = here.io;
  socket tcp = socket::create_tcpv4(io), udp = socket::create_udpv4(io);
  tcp.bind(any_port);
  udp.bind(any_port);
  CHECK(tcp.local_endpoint().port() != 0);
  CHECK(udp.local_endpoint().port() != 0);
  CHECK(udp.local_endpoint().address() == any_port.address());
}

TEST_CASE(CORACLE_SOCKET_TEST ": a port that is listened on, or a UDP port in use, cannot be bound again") {
  service_under_test here;
  io_service& io = here.io;
  const socket first = listening(io);
  socket second = socket::create_tcpv4(io);
  CHECK(thrown([&] { second.bind(first.local_endpoint()); }) == std::errc::address_in_use);
  socket udp = socket::create_udpv4(io), other = socket::create_udpv4(io);
  udp.bind(any_port);
  CHECK(thrown([&] { other.bind(udp.local_endpoint()); }) == std::errc::address_in_use);
}

TEST_CASE(CORACLE_SOCKET_TEST
          ": a server can be bound again at once, while its old connections linger in the kernel") {
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

TEST_CASE(CORACLE_SOCKET_TEST ": both ends of a connection know their own endpoint and the other's") {
  service_under_test here;
  io_service& io = here.io;
  const pair ends = connected(io);
  CHECK(ends.client.local_endpoint() == ends.server.remote_endpoint());
  CHECK(ends.client.remote_endpoint() == ends.server.local_endpoint());
  CHECK(ends.client.local_endpoint().port() != 0);
}

TEST_CASE(CORACLE_SOCKET_TEST ": moving it moves the connection, assigning to it closes the one it had") {
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

TEST_CASE(CORACLE_SOCKET_TEST
          ": after close() it is an error to bind or to listen, and closing again is none") {
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

// ---- TCP -----------------------------------------------------------------------------------------------

TEST_CASE(CORACLE_SOCKET_TEST ": recv waits for what is sent, and gives 0 at the end of the stream") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  std::string received;
  io.run([&]() -> task<> {
    const auto receive = [&]() -> task<> { received = co_await receive_all(ends.server); };
    const auto send = [&]() -> task<> {
      co_await send_all(ends.client, "one ");
      co_await io.schedule();
      co_await send_all(ends.client, "two");
      ends.client.close_send();
    };
    co_await coracle::when_all(receive(), send());
  }());
  CHECK(received == "one two");
}

TEST_CASE(CORACLE_SOCKET_TEST ": half closed, the other direction still carries data") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  io.run([&]() -> task<> {
    co_await send_all(ends.client, "question");
    ends.client.close_send();
    CHECK(co_await receive_all(ends.server) == "question");
    co_await send_all(ends.server, "answer");
    ends.server.close_send();
    CHECK(co_await receive_all(ends.client) == "answer");
  }());
}

TEST_CASE(CORACLE_SOCKET_TEST ": close_recv() ends a recv that waits") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  std::string received = "none";
  io.run([&]() -> task<> {
    const auto receive = [&]() -> task<> { received = co_await receive_all(ends.server); };
    const auto close = [&]() -> task<> {
      ends.server.close_recv();
      co_return;
    };
    co_await coracle::when_all(receive(), close());
  }());
  CHECK(received.empty());
}

TEST_CASE(CORACLE_SOCKET_TEST
          ": one socket sends and receives at the same time more than the kernel buffers") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  constexpr std::size_t size = 8 * 1024 * 1024;
  const std::string one(size, 'a'), other(size, 'b');
  std::string at_server, at_client;
  const auto send = [](socket& to, std::string_view text) -> task<> {
    co_await send_all(to, text);
    to.close_send();
  };
  const auto receive = [](socket& from, std::string& text) -> task<> { text = co_await receive_all(from); };
  io.run([&]() -> task<> {
    co_await coracle::when_all(send(ends.client, one), receive(ends.client, at_client),
                               send(ends.server, other), receive(ends.server, at_server));
  }());
  CHECK(at_server == one);
  CHECK(at_client == other);
}

TEST_CASE(CORACLE_SOCKET_TEST ": several that wait to receive from one socket get the data in their order") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  std::vector<std::string> order;
  io.run([&]() -> task<> {
    const auto receive = [&](char name) -> task<> {
      char byte = 0;
      CHECK(co_await ends.server.recv(&byte, 1) == 1);
      order.push_back({name, byte});
    };
    co_await coracle::when_all(receive('a'), receive('b'), receive('c'), send_all(ends.client, "123"));
  }());
  CHECK(order == std::vector<std::string>{"a1", "b2", "c3"});
}

TEST_CASE(CORACLE_SOCKET_TEST ": nobody listens: the connection is refused") {
  service_under_test here;
  io_service& io = here.io;
  socket silent = socket::create_tcpv4(io), client = socket::create_tcpv4(io);
  silent.bind(any_port);
  std::error_code error;
  io.run([&]() -> task<> { error = co_await error_of(client.connect(silent.local_endpoint())); }());
  CHECK(error == std::errc::connection_refused);
}

TEST_CASE(CORACLE_SOCKET_TEST ": a peer that goes with data unread resets the connection") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  io.run([&]() -> task<> {
    co_await send_all(ends.client, "never read");
    char byte = 0;
    co_await ends.server.recv(&byte, 1);  // so the rest has come, too
    ends.server.close();
    CHECK(co_await error_of(ends.client.recv(&byte, 1)) == std::errc::connection_reset);
  }());
}

TEST_CASE(CORACLE_SOCKET_TEST ": sending to a peer that has gone is an error, not a SIGPIPE") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  ends.server.close();
  io.run([&]() -> task<> {
    std::error_code error;
    while (!error) error = co_await error_of(ends.client.send("x", 1));
    CHECK((error == std::errc::broken_pipe || error == std::errc::connection_reset));
  }());
}

TEST_CASE(CORACLE_SOCKET_TEST ": an operation on a socket that is not connected is an error") {
  service_under_test here;
  io_service& io = here.io;
  socket tcp = socket::create_tcpv4(io);
  io.run([&]() -> task<> {
    char byte = 0;
    CHECK(co_await error_of(tcp.recv(&byte, 1)) == std::errc::not_connected);
    CHECK(co_await error_of(tcp.send(&byte, 1)) == std::errc::broken_pipe);
    CHECK(co_await error_of(tcp.disconnect()) == std::errc::not_connected);
    CHECK(co_await error_of(tcp.accept()) == std::errc::invalid_argument);
    CHECK(co_await error_of(tcp.connect(ipv6_endpoint{ipv6_address::loopback(), 1})) ==
          std::errc::address_family_not_supported);
  }());
  CHECK(thrown([&] { tcp.close_send(); }) == std::errc::not_connected);
}

TEST_CASE(CORACLE_SOCKET_TEST ": disconnect() sends what is queued, then waits until the peer has closed") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  std::vector<std::string> log;
  io.run([&]() -> task<> {
    const auto client = [&]() -> task<> {
      co_await send_all(ends.client, "last words");
      co_await ends.client.disconnect();
      log.push_back("disconnected");
    };
    const auto server = [&]() -> task<> {
      log.push_back(co_await receive_all(ends.server));
      co_await send_all(ends.server, "dropped by the peer");
      for (int i = 0; i != 500; ++i) co_await io.schedule();  // the peer has had the time to receive it
      log.push_back("server closes");
      ends.server.close_send();
      co_await ends.server.disconnect();
    };
    co_await coracle::when_all(client(), server());
  }());
  CHECK(log == std::vector<std::string>{"last words", "server closes", "disconnected"});
  CHECK(ends.client.remote_endpoint() == ip_endpoint{ipv4_endpoint{}});
}

TEST_CASE(CORACLE_SOCKET_TEST ": accept() without an argument gives the new socket itself") {
  service_under_test here;
  io_service& io = here.io;
  socket listener = listening(io), client = socket::create_tcpv4(io);
  io.run([&]() -> task<> {
    const auto serve = [&]() -> task<> {
      socket server = co_await listener.accept();
      CHECK(server.local_endpoint() == listener.local_endpoint());
      co_await send_all(server, co_await receive_some(server));
    };
    const auto ask = [&]() -> task<> {
      co_await client.connect(listener.local_endpoint());
      co_await send_all(client, "hello");
      CHECK(co_await receive_some(client) == "hello");
    };
    co_await coracle::when_all(serve(), ask());
  }());
}

TEST_CASE(CORACLE_SOCKET_TEST ": send_to and recv_from work on a connection too, and name the peer") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  io.run([&]() -> task<> {
    char bytes[4] = {};
    CHECK(co_await ends.client.send_to(ends.server.local_endpoint(), "tcp!", 4) == 4);
    const auto [size, from] = co_await ends.server.recv_from(bytes, 2);
    CHECK(size == 2);
    CHECK(from == ends.client.local_endpoint());
    CHECK(co_await ends.server.recv(bytes, 4) == 2);
  }());
}

// ---- UDP -----------------------------------------------------------------------------------------------

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

// ---- IPv6 ----------------------------------------------------------------------------------------------

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

// ---- cancellation --------------------------------------------------------------------------------------

/// Awaits `work`; true if it ended because stop was requested.
template <class Awaitable>
task<bool> is_cancelled(Awaitable work) {
  try {
    static_cast<void>(co_await std::move(work));
  } catch (const operation_cancelled&) {
    co_return true;
  }
  co_return false;
}

TEST_CASE(CORACLE_SOCKET_TEST ": stop requested before: no operation starts, and what is there stays there") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  socket listener = listening(io), udp = socket::create_udpv4(io), other = socket::create_tcpv4(io);
  udp.bind(any_port);
  stop_source source;
  source.request_stop();
  const coracle::stop_token token = source.get_token();
  io.run([&]() -> task<> {
    char byte = 0;
    co_await send_all(ends.client, "x");
    CHECK(co_await is_cancelled(ends.server.recv(&byte, 1, token)));
    CHECK(co_await is_cancelled(ends.server.send("y", 1, token)));
    CHECK(co_await is_cancelled(listener.accept(token)));
    CHECK(co_await is_cancelled(listener.accept(other, token)));
    CHECK(co_await is_cancelled(other.connect(listener.local_endpoint(), token)));
    CHECK(co_await is_cancelled(udp.recv_from(&byte, 1, token)));
    CHECK(co_await is_cancelled(udp.send_to(udp.local_endpoint(), "z", 1, token)));
    CHECK(co_await ends.server.recv(&byte, 1) == 1);
    CHECK(byte == 'x');
    ends.server.close_send();
    CHECK((co_await receive_all(ends.client)).empty());
  }());
}

TEST_CASE(CORACLE_SOCKET_TEST
          ": stop requested during: whatever waits ends at once, and the socket is still good") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io), full = connected(io);
  socket listener = listening(io), udp = socket::create_udpv4(io), client = socket::create_tcpv4(io),
         server = socket::create_tcpv4(io);
  udp.bind(any_port);
  stop_source source;
  const coracle::stop_token token = source.get_token();
  const auto fill = [&]() -> task<> {
    const std::string block(1 << 16, 'f');
    for (;;) co_await full.client.send(block.data(), block.size(), token);
  };
  std::array<char, 3> bytes{};
  int cancelled = 0;
  const auto count = [&](auto operation) -> task<> {
    cancelled += co_await is_cancelled(std::move(operation));
  };
  const auto stop = [&]() -> task<> {
    co_await io.schedule();
    CHECK(cancelled == 0);
    source.request_stop();
  };
  io.run([&]() -> task<> {
    co_await coracle::when_all(count(ends.server.recv(&bytes[0], 1, token)), count(fill()),
                               count(listener.accept(token)), count(listener.accept(server, token)),
                               count(udp.recv_from(&bytes[1], 1, token)),
                               count(ends.client.disconnect(token)), stop());
    CHECK(cancelled == 6);
    co_await coracle::when_all(client.connect(listener.local_endpoint()), listener.accept(server));
    CHECK(server.remote_endpoint() == client.local_endpoint());
    co_await send_all(ends.server, "still");
    CHECK(co_await receive_some(ends.client) == "still");
    CHECK(co_await udp.send_to(udp.local_endpoint(), "u", 1) == 1);
    CHECK(co_await udp.recv(&bytes[2], 1) == 1);
    CHECK(bytes[2] == 'u');
  }());
}

TEST_CASE(CORACLE_SOCKET_TEST ": stop requested during connect") {
  service_under_test here;
  io_service& io = here.io;
  socket listener = socket::create_tcpv4(io);
  listener.bind(any_port);
  listener.listen(0);
  // A listening socket whose queue is full answers no more, so one of these waits.
  std::vector<socket> clients;
  stop_source source;
  int cancelled = 0;
  const auto connect = [&](socket& each) -> task<> {
    cancelled += co_await is_cancelled(each.connect(listener.local_endpoint(), source.get_token()));
  };
  const auto stop = [&]() -> task<> {
    co_await io.schedule();
    source.request_stop();
  };
  io.run([&]() -> task<> {
    std::vector<task<>> all;
    for (int i = 0; i != 8; ++i) clients.push_back(socket::create_tcpv4(io));
    for (socket& each : clients) all.push_back(connect(each));
    all.push_back(stop());
    co_await coracle::when_all(std::move(all));
  }());
  CHECK(cancelled >= 6);
}

TEST_CASE(CORACLE_SOCKET_TEST
          ": an operation obeys the inherited token, and a token of its own instead of it") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  stop_source inherited, own;
  char byte = 0;
  const auto plain = [&]() -> task<bool> { co_return co_await is_cancelled(ends.server.recv(&byte, 1)); };
  const auto with_own = [&]() -> task<bool> {
    co_return co_await is_cancelled(ends.server.recv(&byte, 1, own.get_token()));
  };
  io.run([&]() -> task<> {
    const auto stop = [&]() -> task<> {
      inherited.request_stop();
      co_return;
    };
    bool plain_cancelled = false;
    const auto wait = [&]() -> task<> {
      plain_cancelled = co_await coracle::with_stop(plain(), inherited.get_token());
    };
    co_await coracle::when_all(wait(), stop());
    CHECK(plain_cancelled);
    co_await send_all(ends.client, "x");
    CHECK_FALSE(co_await coracle::with_stop(with_own(), inherited.get_token()));
    CHECK(byte == 'x');
  }());
}

TEST_CASE(CORACLE_SOCKET_TEST ": stop requested after the data have come has no effect on them") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  stop_source source;
  char byte = 0;
  io.run([&]() -> task<> {
    co_await send_all(ends.client, "x");
    CHECK(co_await ends.server.recv(&byte, 1, source.get_token()) == 1);
    source.request_stop();
  }());
  CHECK(byte == 'x');
}

TEST_CASE(CORACLE_SOCKET_TEST ": a coroutine that waits may be destroyed, and the next one gets the data") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io);
  socket listener = listening(io);
  char byte = 0, next = 0;
  {
    const auto one = coracle_test::started(ends.server.recv(&byte, 1));
    const auto other = coracle_test::started(listener.accept()),
               behind = coracle_test::started(listener.accept());
    const auto third = coracle_test::started(ends.server.disconnect());
  }
  io.run([&]() -> task<> {
    co_await send_all(ends.client, "x");
    CHECK(co_await ends.server.recv(&next, 1) == 1);
  }());
  CHECK(byte == 0);
  CHECK(next == 'x');
  CHECK(::fcntl(0, F_GETFD) != -1);
}
}  // namespace
