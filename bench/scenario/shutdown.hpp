// bench/scenario/shutdown.hpp -- sessions that are stopped together; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>

namespace coracle_bench {
constexpr long open_sessions = 10'000;
constexpr int shutdowns = 20;
constexpr std::chrono::milliseconds between_pings{5};
constexpr std::chrono::milliseconds uptime{20};
}  // namespace coracle_bench
