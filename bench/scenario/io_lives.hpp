// bench/scenario/io_lives.hpp -- how many event loops are made, the same for all who make them.
// SPDX-License-Identifier: MIT
#pragma once

namespace coracle_bench {
constexpr int lives = 20'000;
}  // namespace coracle_bench
