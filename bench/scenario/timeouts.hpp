// bench/scenario/timeouts.hpp -- connections that wait for messages with timeouts; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>

namespace coracle_bench {
constexpr long waiting_connections = 10'000;
constexpr int messages_each = 20;
constexpr std::chrono::seconds patience{30};
}  // namespace coracle_bench
