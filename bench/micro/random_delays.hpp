// bench/micro/random_delays.hpp -- the deadlines of the timers of timer_bench.cpp and of its rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

namespace coracle_bench {
constexpr std::size_t million = 1'000'000;

/// A million random delays of up to `most`.
inline std::vector<std::chrono::nanoseconds> random_delays(std::chrono::nanoseconds most) {
  std::mt19937_64 random{1};
  std::vector<std::chrono::nanoseconds> all(million);
  for (auto& each : all) {
    each = std::chrono::nanoseconds(1 + random() % static_cast<std::uint64_t>(most.count()));
  }
  return all;
}
}  // namespace coracle_bench
