// tour/clock.hpp -- time that has passed.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>

namespace tour {
class stopwatch {
  using clock = std::chrono::steady_clock;

 public:
  [[nodiscard]] double nanoseconds() const {
    return std::chrono::duration<double, std::nano>(clock::now() - start_).count();
  }
  [[nodiscard]] double seconds() const { return nanoseconds() / 1e9; }

 private:
  clock::time_point start_ = clock::now();
};
}  // namespace tour
