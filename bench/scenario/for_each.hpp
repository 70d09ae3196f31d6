// bench/scenario/for_each.hpp -- a million small loop bodies; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "work.hpp"

namespace coracle_bench {
constexpr long small_bodies = 1'000'000;
constexpr int rounds_of_body = 25;

inline void small_body(std::uint64_t& element) noexcept { element = spend(element, rounds_of_body); }
inline std::vector<std::uint64_t> unworked(long n) {
  std::vector<std::uint64_t> all(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i != all.size(); ++i) all[i] = i;
  return all;
}
inline bool is_worked(const std::vector<std::uint64_t>& all) {
  for (std::size_t i = 0; i < all.size(); i += 997) {
    if (all[i] != spend(i, rounds_of_body)) return false;
  }
  return true;
}
}  // namespace coracle_bench
