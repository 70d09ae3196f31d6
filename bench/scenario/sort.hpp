// bench/scenario/sort.hpp -- numbers to sort; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "work.hpp"

namespace coracle_bench {
constexpr long numbers_to_sort = 1'000'000;

inline std::vector<std::uint64_t> unsorted(long n) {
  std::vector<std::uint64_t> all(static_cast<std::size_t>(n));
  std::uint64_t random = 42;
  for (auto& each : all) each = random = spend(random, 1);
  return all;
}
}  // namespace coracle_bench
