// bench/scenario/dag.hpp -- a grid of tasks, each after those above and to the left; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "work.hpp"

namespace coracle_bench {
constexpr long columns_of_dag = 200;
constexpr long rows_of_dag = 200;  // ten times as many in the growing run

inline std::uint64_t piece(std::uint64_t above, std::uint64_t left) noexcept {
  return spend(above ^ (3 * left), 500);
}

inline std::uint64_t last_piece(long rows) {
  std::vector<std::uint64_t> above(columns_of_dag, 1);
  for (long row = 0; row != rows; ++row) {
    std::uint64_t left = 1;
    for (std::uint64_t& each : above) each = left = piece(each, left);
  }
  return above.back();
}
}  // namespace coracle_bench
