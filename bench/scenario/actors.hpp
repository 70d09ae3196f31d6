// bench/scenario/actors.hpp -- a ring of actors; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once

namespace coracle_bench {
constexpr int actors_in_ring = 1000;
constexpr int tokens_in_ring = 100;
constexpr long hops_of_token = 10'000;  // of each token
}  // namespace coracle_bench
