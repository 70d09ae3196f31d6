// tests/unit/simulated_socket_test.cpp -- the sockets of a simulated host behave like those of the system.
// SPDX-License-Identifier: MIT
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>

namespace {
struct service_under_test {
  coracle::testing::simulation sim{1};
  coracle::testing::simulated_network network{sim};
  coracle::testing::simulated_host host{network, "10.0.0.1"};
  coracle::io_service& io = host.io();
  static bool has_ipv6() { return true; }
};
}  // namespace

#define CORACLE_SOCKET_TEST "simulated socket"
#include "socket_contract.hpp"
