// tests/unit/socket_stop_contract_test.cpp -- stop requests on sockets, of the system and of a simulated
// host.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>

#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/socket.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../support/test_coroutine.hpp"
#include "connected_sockets.hpp"
#include "service_under_test.hpp"

namespace {
using coracle::io_service;
using coracle::stop_source;
using coracle::task;
using coracle::net::socket;
using coracle_test::is_cancelled;
using coracle_test::service_under_test;
using coracle_test::connected_sockets::any_port;
using coracle_test::connected_sockets::connected;
using coracle_test::connected_sockets::listening;
using coracle_test::connected_sockets::pair;
using coracle_test::connected_sockets::receive_all;
using coracle_test::connected_sockets::receive_some;
using coracle_test::connected_sockets::send_all;

TEST_CASE("socket: stop requested before: no operation starts, and what is there stays there") {
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
    CHECK(co_await is_cancelled(ends.client.disconnect(token)));
    CHECK(co_await is_cancelled(coracle::with_stop(ends.client.disconnect(), token)));
    co_await send_all(ends.client, "y");
    ends.server.close_send();
    CHECK((co_await receive_all(ends.client)).empty());
  }());
}

TEST_CASE("socket: stop requested during: whatever waits ends at once, and the socket is still good") {
  service_under_test here;
  io_service& io = here.io;
  pair ends = connected(io), full = connected(io), left = connected(io);
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
                               count(left.client.disconnect(token)), stop());
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

TEST_CASE("socket: stop requested during connect") {
  service_under_test here;
  io_service& io = here.io;
  socket listener = socket::create_tcpv4(io);
  listener.bind(any_port);
  listener.listen(0);
  // A listening socket whose queue is full no longer answers, so one of these waits.
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

TEST_CASE("socket: an operation obeys the inherited token, and a token of its own instead of it") {
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

TEST_CASE("socket: stop requested after the data have come has no effect on them") {
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

TEST_CASE("socket: a coroutine that waits may be destroyed, and the next one gets the data") {
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
