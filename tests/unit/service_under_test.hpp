// tests/unit/service_under_test.hpp -- the io_service of a test that runs with the system's and with that of
// a simulated host.
// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>

#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <cstdint>
#include <optional>
#include <utility>

namespace coracle_test {
/// The only host of its simulation.
struct simulated_machine {
  explicit simulated_machine(std::uint64_t seed = 1) : sim(seed) {}
  coracle::testing::simulation sim;
  coracle::testing::simulated_network network{sim};
  coracle::testing::simulated_host host{network, "10.0.0.1"};
};

/// Has doctest run the test twice. Returns false in the first run, and true in the second. A test calls it
/// once.
inline bool is_simulated_run() {
  bool simulated = false;
  SUBCASE("system") { simulated = false; }
  SUBCASE("simulated") { simulated = true; }
  return simulated;
}

/// An io_service of the system or of a simulated host. A test creates one, and runs once with each.
class service_under_test {
 public:
  service_under_test() : io(is_simulated_run() ? machine_.emplace().host.io() : system_.emplace()) {}
  service_under_test(const service_under_test&) = delete;
  service_under_test& operator=(const service_under_test&) = delete;
  [[nodiscard]] bool is_simulated() const noexcept { return machine_.has_value(); }

 private:
  std::optional<simulated_machine> machine_;
  std::optional<coracle::io_service> system_;

 public:
  coracle::io_service& io;
};

/// Awaits `work`. Returns true if it was cancelled.
template <class Awaitable>
coracle::task<bool> is_cancelled(Awaitable work) {
  try {
    static_cast<void>(co_await std::move(work));
  } catch (const coracle::operation_cancelled&) {
    co_return true;
  }
  co_return false;
}
}  // namespace coracle_test
