// tests/unit/async_barrier_members.hpp -- coroutines that meet at an async_barrier.
// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "../support/detached.hpp"

namespace coracle_test {
template <class Barrier>
detached meet_and_log(Barrier& barrier, std::vector<int>& log, int name, int phases = 1) {
  for (int i = 0; i != phases; ++i) {
    co_await barrier.arrive_and_wait();
    log.push_back(name);
  }
}
}  // namespace coracle_test
