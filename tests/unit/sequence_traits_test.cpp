// tests/unit/sequence_traits_test.cpp -- numbers that wrap around.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/sync/sequence_traits.hpp>
#include <limits>

namespace {
using coracle::sequence_traits;
using coracle::detail::earlier_by;
using coracle::detail::later_by;

static_assert(coracle::sequence_traits<std::uint8_t>::precedes(255, 0));
static_assert(sequence_traits<std::uint32_t>::initial_sequence == 0xffff'ffff);
static_assert(sequence_traits<std::int32_t>::initial_sequence == -1);

TEST_CASE_TEMPLATE("sequence_traits: the initial sequence is the one before 0", T, std::uint8_t, std::int8_t,
                   std::uint16_t, std::int32_t, std::uint64_t, std::int64_t) {
  CHECK(later_by(sequence_traits<T>::initial_sequence, 1) == T{0});
  CHECK(sequence_traits<T>::precedes(sequence_traits<T>::initial_sequence, T{0}));
  CHECK_FALSE(sequence_traits<T>::precedes(T{0}, T{0}));
}

TEST_CASE_TEMPLATE("sequence_traits: of any two numbers the one less than half of all behind precedes", T,
                   std::uint8_t, std::int8_t) {
  int wrong = 0;
  for (int a = 0; a != 256; ++a) {
    for (int distance = -128; distance != 128; ++distance) {
      const T first = static_cast<T>(a), second = static_cast<T>(a + distance);
      wrong += sequence_traits<T>::difference(second, first) != distance;
      wrong += sequence_traits<T>::precedes(second, first) != (distance < 0);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("sequence_traits: steps over the end are well defined, for signed numbers too", T,
                   std::uint8_t, std::int8_t, std::int32_t, std::uint64_t, std::int64_t) {
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  static_assert(later_by(most, 1) == least);
  static_assert(earlier_by(least, 1) == most);
  static_assert(sequence_traits<T>::difference(least, most) == 1);
  static_assert(sequence_traits<T>::difference(most, least) == -1);
  CHECK(earlier_by(later_by(most, 100), 100) == most);
}
}  // namespace
