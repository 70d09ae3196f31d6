// bench/scenario/io_neighbours.hpp -- how much is read, sent and timed concurrently; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>

namespace coracle_bench {
constexpr int ticks = 500, round_trips = 500, readers = 4, direct_readers = 32;
constexpr std::chrono::milliseconds tick{1};
constexpr std::size_t read_block = 4096, read_blocks = 16'384, stream_block = std::size_t{1} << 16;
}  // namespace coracle_bench
