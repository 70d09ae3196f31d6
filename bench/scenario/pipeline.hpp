// bench/scenario/pipeline.hpp -- three stages; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "work.hpp"

namespace coracle_bench {
constexpr long piped_items = 300'000;
constexpr std::size_t pipe_places = 64;

inline std::uint64_t parse(std::uint64_t item) noexcept { return spend(item, 100); }
inline std::uint64_t enrich(std::uint64_t item) noexcept { return spend(item, 150); }
inline std::uint64_t store(std::uint64_t sum, std::uint64_t item) noexcept { return sum ^ spend(item, 50); }

/// The expected result, computed by a loop.
inline std::uint64_t piped_by_loop(long n) noexcept {
  std::uint64_t sum = 0;
  for (long i = 0; i != n; ++i) sum = store(sum, enrich(parse(static_cast<std::uint64_t>(i))));
  return sum;
}
}  // namespace coracle_bench
