// bench/scenario/fan_out.hpp -- requests of which one fails; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <stdexcept>

namespace coracle_bench {
constexpr int requests_at_once = 1000;
constexpr int failing_request = 500;
constexpr long fan_outs = 100;
constexpr std::chrono::hours time_of_request{1};
}  // namespace coracle_bench
