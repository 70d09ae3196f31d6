// tests/unit/io_race_test.cpp -- I/O operations as branches of a when_any(): losers consume no data.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <coracle/time/sleep.hpp>
#include <string>
#include <system_error>

namespace {
using coracle::task;
using coracle::net::ipv4_address;
using coracle::net::ipv4_endpoint;
using coracle::net::socket;
using namespace std::chrono_literals;

struct loopback {
  coracle::io_service io;
};
struct simulated {
  coracle::testing::simulation sim{1};
  coracle::testing::simulated_network network{sim};
  coracle::testing::simulated_host host{network, "10.0.0.1"};
  coracle::io_service& io = host.io();
};

socket listening(coracle::io_service& io) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(ipv4_endpoint{ipv4_address::loopback(), 0});
  listener.listen();
  return listener;
}
struct connection {
  explicit connection(coracle::io_service& io)
      : client(socket::create_tcpv4(io)), server(socket::create_tcpv4(io)) {
    socket listener = listening(io);
    io.run(coracle::when_all(client.connect(listener.local_endpoint()), listener.accept(server)));
  }
  socket client, server;
};

TEST_CASE_TEMPLATE("when_any: of two sockets to which data come at the same time, one is received from",
                   Place, loopback, simulated) {
  Place here;
  connection a{here.io}, b{here.io};
  std::string received, rest;
  const auto receive = [&]() -> task<> {
    char from_a = 0, from_b = 0;
    const auto first = co_await coracle::when_any(a.server.recv(&from_a, 1), b.server.recv(&from_b, 1));
    received = first.index() == 0 ? from_a : from_b;
    const char untouched = first.index() == 0 ? from_b : from_a;
    CHECK(untouched == 0);
    co_await (first.index() == 0 ? b.server : a.server).recv(&from_a, 1);
    rest = from_a;
  };
  const auto send = [&]() -> task<> {
    co_await a.client.send("a", 1);
    co_await b.client.send("b", 1);
  };
  here.io.run(coracle::when_all(receive(), send()));
  CHECK((received + rest == "ab" || received + rest == "ba"));
}

TEST_CASE_TEMPLATE("when_any: of two listeners with a connection each, one accepts", Place, loopback,
                   simulated) {
  Place here;
  socket a = listening(here.io), b = listening(here.io), to_a = socket::create_tcpv4(here.io),
         to_b = socket::create_tcpv4(here.io);
  const auto accept = [&]() -> task<> {
    const auto first = co_await coracle::when_any(a.accept(), b.accept());
    socket& other = first.index() == 0 ? b : a;
    const socket second = co_await other.accept();
    CHECK(second.remote_endpoint() == (first.index() == 0 ? to_b : to_a).local_endpoint());
  };
  const auto connect = [&]() -> task<> {
    co_await coracle::when_all(to_a.connect(a.local_endpoint()), to_b.connect(b.local_endpoint()));
  };
  here.io.run(coracle::when_all(accept(), connect()));
}

TEST_CASE_TEMPLATE("when_any: an I/O error ends the race and is thrown, and what need not wait wins", Place,
                   loopback, simulated) {
  Place here;
  connection ends{here.io};
  socket client = socket::create_tcpv4(here.io);
  const auto nobody = listening(here.io).local_endpoint();
  here.io.run([&]() -> task<> {
    char byte = 0;
    bool refused = false;
    try {
      co_await coracle::when_any(ends.server.recv(&byte, 1), client.connect(nobody));
    } catch (const std::system_error& error) {
      refused = error.code() == std::errc::connection_refused;
    }
    CHECK(refused);
    co_await ends.client.send("x", 1);
    co_await coracle::sleep_for(10ms);
    const auto first = co_await coracle::when_any(ends.server.recv(&byte, 1), coracle::sleep_for(1h));
    CHECK(first.index() == 0);
    CHECK(byte == 'x');
    const auto second = co_await coracle::when_any(ends.server.recv(&byte, 1), coracle::sleep_for(1ms));
    CHECK(second.index() == 1);
  }());
}
}  // namespace
