// tests/unit/connect_test.cpp -- the addresses of a host, and which of them gets connected.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <netdb.h>

#include <algorithm>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/connect.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <exception>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "../support/descriptor_limit.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::task;
using coracle::net::connect;
using coracle::net::ip_endpoint;
using coracle::net::resolve;
using tcp_socket = coracle::net::socket;  // <netdb.h> has a function socket()

TEST_CASE("resolve: an address is its own name, and has a port by number") {
  const auto found = coracle::sync_wait(resolve("127.0.0.1", "80"));
  REQUIRE(found.size() == 1);
  CHECK(found.front().to_string() == "127.0.0.1:80");
  CHECK(coracle::sync_wait(resolve("::1", "8080")).front().to_string() == "[::1]:8080");
  CHECK(coracle::sync_wait(resolve("::1", 8080)).front().to_string() == "[::1]:8080");
  CHECK(coracle::sync_wait(resolve("::1", 0)).front().to_string() == "[::1]:0");
}

TEST_CASE("resolve: what has no address, or no port, is an error with its name") {
  const auto error_of = [](const std::string& host, const std::string& service) {
    std::string text;
    try {
      coracle::sync_wait(resolve(host, service));
    } catch (const std::system_error& e) {
      CHECK(e.code().category() == coracle::net::resolver_category());
      text = e.what();
    }
    return text.substr(0, text.find(':'));
  };
  CHECK(error_of("no.such.host.invalid", "80") == "cannot find the address of \"no.such.host.invalid\"");
  CHECK(error_of("", "80") == "cannot find the address of \"\"");
  CHECK(error_of("127.0.0.1", "no-such-service") == "cannot find the port of \"no-such-service\"");
  for (const char* const each : {"65536", "70000", "-1", "99999999999999999999"}) {
    CHECK(error_of("127.0.0.1", each) == std::string("cannot find the port of \"") + each + '"');
  }
  // The C library would see the part before the NUL alone.
  CHECK(error_of(std::string("127.0.0.1\0.example", 18), "80").starts_with("cannot find the address"));
  CHECK(error_of("127.0.0.1", std::string("80\0", 3)).starts_with("cannot find the port"));
  CHECK(coracle::sync_wait(resolve("127.0.0.1", "65535")).front().to_string() == "127.0.0.1:65535");
}

TEST_CASE(
    "resolve: without a descriptor to look a name up with, the error is not that there is no such name") {
  const auto error_of = [](const char* host, const char* service) {
    const coracle_test::descriptor_limit limited{0};
    try {
      coracle::sync_wait(resolve(host, service));
    } catch (const std::system_error& e) {
      return e.code();
    }
    return std::error_code{};
  };
  CHECK(error_of("localhost", "80") == std::errc::too_many_files_open);
  CHECK(error_of("127.0.0.1", "http") == std::errc::too_many_files_open);
  CHECK(error_of("127.0.0.1", "80") == std::error_code{});
  CHECK(error_of("127.0.0.1", "70000") == std::error_code(EAI_SERVICE, coracle::net::resolver_category()));
}

TEST_CASE("connect: by name, to the address on which somebody listens") {
  coracle::io_service io;
  auto listener = tcp_socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  const auto port = listener.local_endpoint().port();
  const auto both =
      io.run(coracle::when_all(connect(io, "localhost", std::to_string(port)), listener.accept()));
  CHECK(std::get<0>(both).remote_endpoint() == listener.local_endpoint());
  const auto by_number = io.run(coracle::when_all(connect(io, "localhost", port), listener.accept()));
  CHECK(std::get<0>(by_number).remote_endpoint() == listener.local_endpoint());
}

TEST_CASE("connect: to one address, of either family") {
  coracle::io_service io;
  auto listener4 = tcp_socket::create_tcpv4(io), listener6 = tcp_socket::create_tcpv6(io);
  const coracle::net::ipv4_endpoint free4{coracle::net::ipv4_address::loopback(), 0};
  const coracle::net::ipv6_endpoint free6{coracle::net::ipv6_address::loopback(), 0};
  listener4.bind(free4);
  listener6.bind(free6);
  for (tcp_socket* const listener : {&listener4, &listener6}) {
    listener->listen();
    const ip_endpoint there = listener->local_endpoint();
    const auto both = io.run(coracle::when_all(connect(io, there), listener->accept()));
    CHECK(std::get<0>(both).remote_endpoint() == there);
    CHECK(std::get<1>(both).remote_endpoint() == std::get<0>(both).local_endpoint());
    listener->close();
    CHECK_THROWS_AS(io.run(connect(io, there)), std::system_error);  // the error itself, in no group
  }
  const coracle::net::ipv4_endpoint nobody{coracle::net::ipv4_address::loopback(), 1};
  CHECK_THROWS_AS(io.run(connect(io, nobody)), std::system_error);
}

/// A client on a simulated network, where the given number of addresses lead to a server.
struct world {
  coracle::testing::simulation sim{1};
  coracle::testing::simulated_network network{sim};
  coracle::testing::simulated_host first{network, "10.0.0.1"}, second{network, "10.0.0.2"};
  coracle::testing::simulated_host client{network, "10.0.0.9"};
  const ip_endpoint first_address{first.address(), 80}, second_address{second.address(), 80};

  std::vector<tcp_socket> listeners;
  void listen(coracle::testing::simulated_host& host, const ip_endpoint& address) {
    listeners.push_back(tcp_socket::create_tcpv4(host.io()));
    listeners.back().bind(address);
    listeners.back().listen();
  }
  std::chrono::nanoseconds took{};
  task<std::string> connect_to(std::vector<ip_endpoint> addresses) {
    co_await client.io().schedule();
    const auto begun = client.io().timers()->now();
    std::string remote = "none";
    try {
      const tcp_socket connection = co_await connect(client.io(), std::move(addresses));
      remote = connection.remote_endpoint().to_string();
    } catch (const std::exception&) {
    }
    took = client.io().timers()->now() - begun;
    co_return remote;
  }
};

TEST_CASE("connect: the first address that answers at once is taken, and the others are not tried") {
  world its;
  its.listen(its.first, its.first_address);
  its.listen(its.second, its.second_address);
  CHECK(its.sim.run(its.connect_to({its.first_address, its.second_address})) == "10.0.0.1:80");
  CHECK(its.took < 250ms);
}

TEST_CASE("connect: one that refuses has the next one tried at once") {
  world its;
  its.listen(its.second, its.second_address);
  CHECK(its.sim.run(its.connect_to({its.first_address, its.second_address})) == "10.0.0.2:80");
  CHECK(its.took < 250ms);
}

TEST_CASE("connect: one that does not answer has the next one tried beside it after 250 ms") {
  world its;
  its.listen(its.second, its.second_address);
  its.network.part(its.first.address(), its.client.address());
  CHECK(its.sim.run(its.connect_to({its.first_address, its.second_address})) == "10.0.0.2:80");
  CHECK(its.took >= 250ms);
  CHECK(its.took < 500ms);
}

TEST_CASE("connect: fails if every address does") {
  world its;
  CHECK(its.sim.run(its.connect_to({its.first_address, its.second_address})) == "none");
}
}  // namespace
