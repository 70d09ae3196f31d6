// coracle/sync/sequence_traits.hpp -- sequence numbers that wrap around, and their comparison.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/base/config.hpp>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace coracle {
/// How the sequence numbers of a sequence_barrier or a sequencer compare: they wrap around, so a number
/// precedes another if it is behind it by less than half of all numbers. Pass your own type with these
/// members if that does not fit.
///
///     static_assert(coracle::sequence_traits<std::uint8_t>::precedes(255, 0));
template <std::integral Sequence>
struct sequence_traits {
  using value_type = Sequence;
  using difference_type = std::make_signed_t<Sequence>;
  using size_type = std::make_unsigned_t<Sequence>;

  /// Precedes the first number, 0.
  static constexpr value_type initial_sequence = static_cast<value_type>(-1);

  /// Returns how far `a` is ahead of `b`; negative if behind.
  static constexpr difference_type difference(value_type a, value_type b) noexcept {
    return static_cast<difference_type>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }
  static constexpr bool precedes(value_type a, value_type b) noexcept { return difference(a, b) < 0; }
};

namespace detail {
/// `count` numbers after `number`, wrapped around; well defined for signed numbers too.
template <std::integral Sequence>
constexpr Sequence later_by(Sequence number, std::uint64_t count) noexcept {
  return static_cast<Sequence>(static_cast<std::uint64_t>(number) + count);
}
template <std::integral Sequence>
constexpr Sequence earlier_by(Sequence number, std::uint64_t count) noexcept {
  return static_cast<Sequence>(static_cast<std::uint64_t>(number) - count);
}
/// Returns true if the numbers suffice to tell a full ring buffer of this size from an empty one.
template <class Traits>
constexpr bool fits_sequence(std::uint64_t buffer_size) noexcept {
  using difference_type = typename Traits::difference_type;
  return buffer_size - 1 < static_cast<std::uint64_t>(std::numeric_limits<difference_type>::max());
}
}  // namespace detail
}  // namespace coracle
