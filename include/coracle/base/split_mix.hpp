// coracle/base/split_mix.hpp -- pseudorandom numbers of 64 bits, from a seed.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace coracle::detail {
/// Source  G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014
///         (SplitMix64).
class split_mix {
 public:
  explicit constexpr split_mix(std::uint64_t seed) noexcept : state_(seed) {}
  constexpr std::uint64_t operator()() noexcept { return mix(state_ += 0x9e3779b97f4a7c15); }

  /// Every bit of the result depends on every bit of `value`.
  static constexpr std::uint64_t mix(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
  }

 private:
  std::uint64_t state_;
};
}  // namespace coracle::detail
