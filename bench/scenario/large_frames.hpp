// bench/scenario/large_frames.hpp -- the sizes, and the work on large locals; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>

namespace coracle_bench {
constexpr int waves = 20;
constexpr long tasks_in_wave = 1000;
constexpr std::size_t local_bytes = 10 * 1024;
constexpr int result_levels = 10, results = 20'000;
constexpr long levels = 1000, descents = 100;

using large_object = std::array<unsigned char, local_bytes>;

/// Makes the compiler assume that the object is read and written here.
inline void use(large_object& object) noexcept { asm volatile("" : : "r"(object.data()) : "memory"); }
inline large_object filled(long number) noexcept {
  large_object object;
  object.fill(static_cast<unsigned char>(number));
  return object;
}
}  // namespace coracle_bench
