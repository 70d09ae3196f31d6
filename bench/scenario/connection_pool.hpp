// bench/scenario/connection_pool.hpp -- clients that share a few connections; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <vector>

#include "work.hpp"

namespace coracle_bench {
constexpr int clients = 200;
constexpr int connections = 8;
constexpr long queries_of_client = 500;
constexpr int rounds_of_query = 2000;  // one to two us of work, in two halves with a hop in between

/// The clients' work on a connection, and the figures they record.
struct queries {
  std::atomic<int> open{0};
  std::atomic<bool> too_many{false};
  std::atomic<long> done{0};
  std::vector<std::vector<std::chrono::nanoseconds>> waits =
      std::vector<std::vector<std::chrono::nanoseconds>>(clients);

  void begin() {
    if (open.fetch_add(1) >= connections) too_many = true;
    static_cast<void>(spend(1, rounds_of_query / 2));
  }
  void end() {
    static_cast<void>(spend(2, rounds_of_query / 2));
    open.fetch_sub(1);
    done.fetch_add(1);
  }
};
}  // namespace coracle_bench
