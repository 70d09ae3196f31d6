// bench/scenario/retry_storm.hpp -- operations that fail a few times; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>

namespace coracle_bench {
constexpr long retried_operations = 10'000;
constexpr unsigned failures_each = 3;
constexpr std::chrono::milliseconds first_delay{4};
}  // namespace coracle_bench
