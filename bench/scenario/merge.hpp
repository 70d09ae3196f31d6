// bench/scenario/merge.hpp -- sorted sequences to merge; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace coracle_bench {
constexpr int sorted_sources = 16;
constexpr long elements_of_source = 50'000;
constexpr long elements_of_page = 64;

/// Element `i` of a source: ascending, and different in each source.
constexpr std::uint64_t element_of(int source, long i) noexcept {
  return static_cast<std::uint64_t>(i) * 16 + static_cast<std::uint64_t>(source) * (i % 2 == 0 ? 1 : 0);
}
/// Adds up the elements, and records whether they are in order.
struct merged {
  std::uint64_t last = 0, sum = 0;
  bool in_order = true;
  void add(std::uint64_t element) noexcept {
    in_order = in_order && last <= element;
    sum += last = element;
  }
};
inline std::uint64_t sum_of_sources(long n) noexcept {
  std::uint64_t sum = 0;
  for (int source = 0; source != sorted_sources; ++source) {
    for (long i = 0; i != n; ++i) sum += element_of(source, i);
  }
  return sum;
}
}  // namespace coracle_bench
