// tests/support/one_after_another.hpp -- threads that take turns without synchronisation.
// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>
#include <thread>

namespace coracle_test {
/// Runs each side on its own thread, for i = 0, 1, 2 ... `rounds` - 1: calls `sides(i)` once the previous
/// side has returned from its call with that i. The hand-over is relaxed and orders nothing else. So
/// ThreadSanitizer requires that the code under test itself synchronises the sides, however busy the machine
/// is.
template <class... Sides>
void one_after_another(int rounds, Sides... sides) {
  std::atomic<int> done[sizeof...(Sides)] = {};
  const auto run = [&](std::size_t me, auto& side) {
    for (int i = 0; i != rounds; ++i) {
      while (me != 0 && done[me - 1].load(std::memory_order_relaxed) <= i) std::this_thread::yield();
      side(i);
      done[me].store(i + 1, std::memory_order_relaxed);
    }
  };
  std::size_t me = 0;
  std::thread threads[] = {std::thread([&run, &sides, me = me++] { run(me, sides); })...};
  for (std::thread& each : threads) each.join();
}
}  // namespace coracle_test
