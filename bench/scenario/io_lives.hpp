// bench/scenario/io_lives.hpp -- the number of event loops; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once

namespace coracle_bench {
constexpr int lives = 20'000;
}  // namespace coracle_bench
