// tests/unit/sequence_range_test.cpp -- consecutive sequence numbers.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/sync/sequence_range.hpp>
#include <cstdint>
#include <iterator>
#include <vector>

namespace {
using coracle::sequence_range;
using bytes = sequence_range<std::uint8_t>;

template <class Range>
std::vector<int> numbers(const Range& range) {
  return {range.begin(), range.end()};
}

TEST_CASE("sequence_range: a default one is empty") {
  constexpr sequence_range<std::size_t> none;
  static_assert(none.empty());
  static_assert(none.size() == 0);
  CHECK(none.begin() == none.end());
}

TEST_CASE("sequence_range: gives its numbers in order, without the end") {
  constexpr sequence_range<std::size_t> range{5, 8};
  static_assert(!range.empty() && range.size() == 3);
  static_assert(range.front() == 5 && range.back() == 7 && range[1] == 6);
  CHECK(numbers(range) == std::vector{5, 6, 7});
}

TEST_CASE("sequence_range: wraps around") {
  const bytes range{254, 1};
  CHECK(range.size() == 3);
  CHECK(range.back() == 0);
  CHECK(range[2] == 0);
  CHECK(numbers(range) == std::vector{254, 255, 0});
  CHECK(numbers(sequence_range<std::int8_t>{126, -127}) == std::vector{126, 127, -128});
}

TEST_CASE("sequence_range: first() and skip() split it, and take no more than there is") {
  const bytes range{254, 2};
  CHECK(numbers(range.first(3)) == std::vector{254, 255, 0});
  CHECK(numbers(range.skip(3)) == std::vector{1});
  CHECK(range.first(0).empty());
  CHECK(range.first(4) == range);
  CHECK(range.first(200) == range);
  CHECK(range.skip(0) == range);
  CHECK(range.skip(4).empty());
  CHECK(range.skip(200).empty());
}

TEST_CASE("sequence_range: its iterators go anywhere and compare across the wrap") {
  const bytes range{254, 2};
  const auto first = range.begin(), last = range.end();
  CHECK(last - first == 4);
  CHECK(first - last == -4);
  CHECK(*(first + 2) == 0);
  CHECK(*(1 + first) == 255);
  CHECK(*(last - 1) == 1);
  CHECK(first[3] == 1);
  CHECK(first < last);
  CHECK(last > first + 1);
  auto it = first;
  CHECK(*it++ == 254);
  CHECK(*it == 255);
  CHECK(*--it == 254);
  CHECK(*it-- == 254);
  CHECK(*++it == 254);
  CHECK(std::ranges::find(range, 0) == first + 2);
  CHECK(std::distance(first, last) == 4);
}

TEST_CASE("sequence_range: equal ranges have the same first and the same end") {
  using range = sequence_range<std::uint8_t>;
  CHECK(range{1, 3} == range{1, 3});
  CHECK(range{1, 3} != range{1, 4});
  CHECK(range{1, 3} != range{2, 3});
}

static_assert(std::random_access_iterator<sequence_range<std::size_t>::const_iterator>);
static_assert(std::random_access_iterator<bytes::const_iterator>);
}  // namespace
