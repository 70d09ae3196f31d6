// src/time/retry.cpp -- unpredictable seeds for delays.
// SPDX-License-Identifier: MIT
#include <coracle/time/retry.hpp>
#include <random>

namespace coracle::detail {
std::uint64_t unpredictable_seed() noexcept {
  static const std::uint64_t of_process = [] {
    CORACLE_TRY() {
      std::random_device device;
      return std::uint64_t{device()} << 32 | device();
    }
    CORACLE_CATCH_ALL() {
      return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    }
  }();
  // [R1] a number for each call  relaxed  orders nothing
  static atomic<std::uint64_t> calls{0};
  return of_process + (calls.fetch_add(1, memory_order_relaxed) << 1 | 1) * 0xd1342543de82ef95; /*R1*/
}
}  // namespace coracle::detail
