// examples/25_simulated_network.cpp -- a client that must not be charged twice, on a network that loses
// connections: the shipped sockets on simulated hosts, and a seed that finds what an ordinary test rarely
// does.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <coracle/time/timeout.hpp>
#include <cstdint>
#include <cstdio>
#include <set>
#include <system_error>
#include <utility>

using coracle::io_service;
using coracle::net::ip_endpoint;
using coracle::net::socket;
using namespace std::chrono_literals;

/// The server's state: payments and, with `remembers`, which of them it has seen.
struct account {
  bool remembers;
  int charged = 0;
  std::set<char> seen{};
};

/// One payment per connection.
coracle::task<> take_payment(socket client, account& its) {
  char payment = 0;
  const std::size_t size = co_await client.recv(&payment, 1);
  if (size == 0) co_return;
  const bool is_new = its.seen.insert(payment).second;
  if (is_new || !its.remembers) ++its.charged;
  co_await client.send(&payment, 1);
}
/// A connection may be lost without notice to either side: without the timeouts, one of them waits forever
/// with seed 13.
coracle::task<> serve(io_service& io, const ip_endpoint& address, account& its) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(address);
  listener.listen();
  for (;;) {
    socket client = co_await listener.accept();
    try {
      co_await coracle::timeout(take_payment(std::move(client), its), 1s);
    } catch (const std::system_error&) {  // this client is gone; serve the next
    } catch (const coracle::timed_out&) {
    }
  }
}

coracle::task<bool> has_receipt(io_service& io, const ip_endpoint& server, char payment) {
  socket connection = socket::create_tcpv4(io);
  co_await connection.connect(server);
  co_await connection.send(&payment, 1);
  char receipt = 0;
  const std::size_t size = co_await connection.recv(&receipt, 1);
  co_return size == 1;
}
coracle::task<bool> pay_once(io_service& io, const ip_endpoint& server, char payment) {
  try {
    co_return co_await coracle::timeout(has_receipt(io, server, payment), 1s);
  } catch (const std::system_error&) {
    co_return false;
  } catch (const coracle::timed_out&) {
    co_return false;
  }
}
/// Retries until it has the receipt.
coracle::task<> pay(io_service& io, const ip_endpoint& server) {
  for (const char payment : {'a', 'b', 'c'}) {
    bool paid = false;
    while (!paid) paid = co_await pay_once(io, server, payment);
  }
}

/// Returns how often the client is charged for its three payments.
int charges(std::uint64_t seed, bool remembers) {
  coracle::testing::simulation sim{seed};
  coracle::testing::network_faults faults;
  faults.resets = 20;  // one send in 20 breaks its connection
  coracle::testing::simulated_network network{sim, faults};
  coracle::testing::simulated_host server{network, "10.0.0.1"}, client{network, "10.0.0.2"};
  const ip_endpoint address{server.address(), 443};
  account its{remembers};
  sim.run(coracle::when_any(pay(client.io(), address), serve(server.io(), address, its)));
  return its.charged;
}

int main() {
  for (const bool remembers : {false, true}) {
    int wrong = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) wrong += charges(seed, remembers) != 3;
    std::printf("%s: charged wrongly with %d of 200 seeds\n", remembers ? "remembers" : "forgets", wrong);
  }
}

// Output:
//   forgets: charged wrongly with 64 of 200 seeds
//   remembers: charged wrongly with 0 of 200 seeds
