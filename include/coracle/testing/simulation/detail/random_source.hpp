// coracle/testing/simulation/detail/random_source.hpp -- portable seeded random numbers.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/base/split_mix.hpp>
#include <cstdint>

namespace coracle::testing {
/// A UniformRandomBitGenerator that returns the same numbers with every compiler and library, unlike the
/// distributions of <random>.
///
///     coracle::testing::random_source random{7};
///     if (random.one_in(10)) drop(packet); else delay(packet, random.between(1ms, 20ms));
///
/// Threads  not thread-safe.
/// Cost     8 bytes; a few instructions per number. Not cryptographic.
/// Source   base/split_mix.hpp
class random_source : detail::split_mix {
 public:
  using result_type = std::uint64_t;

  explicit constexpr random_source(std::uint64_t seed) noexcept : split_mix(seed) {}

  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return ~result_type{0}; }
  using split_mix::mix;
  using split_mix::operator();
  /// Returns a number in [0, count). Requires: count != 0. Slightly biased if `count` is near 2^64.
  constexpr std::uint64_t below(std::uint64_t count) noexcept {
    CORACLE_REQUIRE(count != 0, "random_source::below(0): there is no number below 0");
    return (*this)() % count;
  }
  /// Returns true once in `count` calls, on average. Requires: count != 0.
  constexpr bool one_in(std::uint64_t count) noexcept { return below(count) == 0; }
  /// Returns a number or duration in [least, most], in the unit of the type. Requires: least <= most.
  template <class T>
  constexpr T between(T least, T most) noexcept {
    if constexpr (requires { least.count(); }) {
      return T{between(least.count(), most.count())};
    } else {
      const auto span = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
      const std::uint64_t offset = span == max() ? (*this)() : below(span + 1);
      return static_cast<T>(static_cast<std::uint64_t>(least) + offset);
    }
  }
};
}  // namespace coracle::testing
