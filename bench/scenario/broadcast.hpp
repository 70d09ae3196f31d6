// bench/scenario/broadcast.hpp -- values for a thousand subscribers, the same for all who send them.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

namespace coracle_bench {
constexpr int broadcast_threads = 2, subscribers = 1000;
constexpr long broadcast_values = 200;
/// Where each has a channel of its own.
constexpr std::size_t places_a_subscriber = 64;
}  // namespace coracle_bench
