// tests/unit/accept_with_backoff_test.cpp -- a server survives a shortage of descriptors, simulated and real.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cerrno>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/timer_service.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/accept_with_backoff.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <coracle/time/sleep.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "../support/descriptor_limit.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::operation_cancelled;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::task;
using coracle::net::accept_with_backoff;
using coracle::net::ip_endpoint;
using coracle::net::ipv4_address;
using coracle::net::ipv4_endpoint;
using coracle::net::socket;
using coracle::net::detail::after_failed_accept;
using time_point = std::chrono::steady_clock::time_point;

/// A host with a listener, a pending connection, and no descriptor left to accept it.
struct full_host {
  full_host() {
    listener.bind(address);
    listener.listen();
    sim.run(client.connect(address));
    host.limit_descriptors(2);
  }
  coracle::testing::simulation sim{1};
  coracle::testing::simulated_network network{sim};
  coracle::testing::simulated_host host{network, "10.0.0.1"}, far{network, "10.0.0.2"};
  const ip_endpoint address{host.address(), 80};
  socket listener = socket::create_tcpv4(host.io());
  socket other = socket::create_tcpv4(host.io());  // has the second descriptor
  socket client = socket::create_tcpv4(far.io());
};

TEST_CASE(
    "accept_with_backoff: waits while no descriptor is free, and gives the connection that has waited") {
  full_host full;
  time_point accepted;
  const auto accept = [&]() -> task<> {
    const socket server = co_await accept_with_backoff(full.listener);
    CHECK(server.remote_endpoint() == full.client.local_endpoint());
    accepted = full.sim.now();
  };
  const auto make_room = [&]() -> task<> {
    co_await coracle::sleep_for(100ms);
    full.other.close();
  };
  const time_point begin = full.sim.now();
  full.sim.run(coracle::when_all(accept(), make_room()));
  CHECK(accepted - begin == 150ms);  // the attempts: after 0, 10, 30, 70, 150 ms
}

TEST_CASE("accept_with_backoff: waits a second at most between two attempts") {
  full_host full;
  time_point accepted;
  const auto accept = [&]() -> task<> {
    co_await accept_with_backoff(full.listener);
    accepted = full.sim.now();
  };
  const auto make_room = [&]() -> task<> {
    co_await coracle::sleep_for(1h);
    full.other.close();
  };
  const time_point begin = full.sim.now();
  full.sim.run(coracle::when_all(accept(), make_room()));
  CHECK(accepted - begin >= 1h);
  CHECK(accepted - begin <= 1h + 1s);
}

TEST_CASE("accept_with_backoff: a stop request ends the wait between two attempts, and loses no connection") {
  const auto stops = [](bool by_argument) {
    full_host full;
    stop_source stop;
    stop_reason why{};
    time_point ended;
    const auto accept = [&]() -> task<> {
      try {
        if (by_argument) {
          co_await accept_with_backoff(full.listener, stop.get_token());
        } else {
          co_await coracle::with_stop(accept_with_backoff(full.listener), stop.get_token());
        }
      } catch (const operation_cancelled& cancelled) {
        why = cancelled.reason();
        ended = full.sim.now();
      }
    };
    const auto request = [&]() -> task<> {
      co_await coracle::sleep_for(12ms);
      stop.request_stop(stop_reason::shutting_down);
    };
    const time_point begin = full.sim.now();
    full.sim.run(coracle::when_all(accept(), request()));
    CHECK(why == stop_reason::shutting_down);
    CHECK(ended - begin == 12ms);
    full.other.close();
    full.sim.run([&]() -> task<> {
      const socket server = co_await accept_with_backoff(full.listener);
      CHECK(server.remote_endpoint() == full.client.local_endpoint());
    }());
  };
  stops(false);
  stops(true);
}

TEST_CASE("accept_with_backoff: what does not pass is thrown at once") {
  full_host full;
  const auto error_of_accepting_on = [&](socket& from) {
    std::error_code error;
    full.sim.run([&]() -> task<> {
      try {
        co_await accept_with_backoff(from);
      } catch (const std::system_error& failure) {
        error = failure.code();
      }
    }());
    return error;
  };
  CHECK(error_of_accepting_on(full.other) == std::errc::invalid_argument);
  full.host.crash();
  CHECK(error_of_accepting_on(full.listener) == std::errc::network_down);
}

TEST_CASE("accept_with_backoff: which errors pass") {
  const auto after = [](int error) { return coracle::net::detail::after({error, std::system_category()}); };
  for (const int exhausted : {EMFILE, ENFILE, ENOBUFS, ENOMEM})
    CHECK(after(exhausted) == after_failed_accept::wait);
  for (const int of_one : {ECONNABORTED, ECONNRESET, EPROTO, EHOSTUNREACH})
    CHECK(after(of_one) == after_failed_accept::accept_next);
  for (const int lasting : {EINVAL, EBADF, ENETDOWN, EOPNOTSUPP, EPERM})
    CHECK(after(lasting) == after_failed_accept::give_up);
  CHECK(coracle::net::detail::after({EMFILE, std::generic_category()}) == after_failed_accept::give_up);
}

TEST_CASE("accept_with_backoff: under a real limit a server serves all that come, a few at a time") {
  constexpr int clients = 30, at_a_time = 8;
  coracle::io_service io;
  socket listener = socket::create_tcpv4(io);
  listener.bind(ipv4_endpoint{ipv4_address::loopback(), 0});
  listener.listen();
  const ip_endpoint address = listener.local_endpoint();
  std::vector<socket> waiting;
  for (int i = 0; i != clients; ++i) waiting.push_back(socket::create_tcpv4(io));

  int served = 0;
  const auto serve_one = [&](socket client) -> task<> {
    char byte = 0;
    co_await client.recv_exactly(&byte, 1);
    co_await client.send_all(&byte, 1);
    ++served;
  };
  const auto serve = [&](coracle::async_scope& scope) -> task<> {
    for (int i = 0; i != clients; ++i) {
      socket client = co_await accept_with_backoff(listener);
      scope.spawn(serve_one(std::move(client)));
    }
  };
  const auto talk = [&]() -> task<> {  // all connect before any is served
    for (socket& each : waiting) co_await each.connect(address);
    co_await coracle::sleep_for(1ms);
    for (socket& each : waiting) {
      char byte = 'x';
      co_await each.send_all(&byte, 1);
      co_await each.recv_exactly(&byte, 1);
    }
  };
  const coracle_test::descriptor_limit limited{at_a_time};
  const auto server = [&]() -> task<> { co_await coracle::with_scope(serve); };
  io.run(coracle::when_all(server(), talk()));
  CHECK(served == clients);
}
}  // namespace
