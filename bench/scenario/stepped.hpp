// bench/scenario/stepped.hpp -- a simulation in steps; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>

#include "work.hpp"

namespace coracle_bench {
constexpr int bodies = 8;
constexpr long steps = 20'000;
constexpr int rounds_of_step = 1000;  // about 0.5 to 1 us

/// Two states of each body: a step reads its neighbour's current state and writes its own next one.
struct simulated {
  struct alignas(128) states {
    std::array<std::uint64_t, 2> state{1, 1};
  };
  std::array<states, bodies> all;

  void step(int body, long number) noexcept {
    const auto now = static_cast<std::size_t>(number % 2);
    const auto mine = static_cast<std::size_t>(body);
    all[mine].state[1 - now] = spend(all[(mine + 1) % bodies].state[now] + mine, rounds_of_step);
  }
};
inline std::uint64_t stepped_by_loop(long n) noexcept {
  simulated world;
  for (long i = 0; i != n; ++i) {
    for (int body = 0; body != bodies; ++body) world.step(body, i);
  }
  return world.all[0].state[static_cast<std::size_t>(n % 2)];
}
}  // namespace coracle_bench
