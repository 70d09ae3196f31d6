// bench/scenario/work.hpp -- work that only takes time; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace coracle_bench {
/// About a nanosecond per round; the compiler cannot compute the result in advance.
[[gnu::noinline]] inline std::uint64_t spend(std::uint64_t seed, int rounds) noexcept {
  std::uint64_t x = seed | 1;
  for (int i = 0; i != rounds; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}
}  // namespace coracle_bench
