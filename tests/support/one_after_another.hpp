// tests/support/one_after_another.hpp -- threads that take turns without being synchronised by it.
// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>
#include <thread>

namespace coracle_test {
/// Runs each side on a thread of its own, for i = 0, 1, 2 ... `rounds` - 1: `sides(i)` once the side named
/// before it has returned from its own call with that i. They learn that from words that order nothing else.
/// So under ThreadSanitizer whatever one side of a round needs to know of another must come from the code
/// under test, however busy the machine is.
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
