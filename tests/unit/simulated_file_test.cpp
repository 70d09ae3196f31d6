// tests/unit/simulated_file_test.cpp -- a simulated host's files behave like the system's, until it crashes.
// SPDX-License-Identifier: MIT
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <string>
#include <string_view>

namespace {
struct service_under_test {
  std::string operator/(const char* name) const { return name; }
  [[nodiscard]] std::string text_of(std::string_view path) { return host.disk().contents(path).value(); }
  void write_text(std::string_view path, std::string_view text) { host.disk().put(path, text); }
  coracle::testing::simulation sim{1};
  coracle::testing::simulated_network network{sim};
  coracle::testing::simulated_host host{network, "10.0.0.1"};
  coracle::io_service& io = host.io();
};
}  // namespace

#define CORACLE_FILE_TEST "simulated file"
#include "file_contract.hpp"
