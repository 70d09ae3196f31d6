// tests/unit/random_source_test.cpp -- the range of the numbers, and the numbers themselves.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/testing/simulation/detail/random_source.hpp>
#include <limits>
#include <random>
#include <set>

namespace {
using namespace std::chrono_literals;
using coracle::testing::random_source;

TEST_CASE("random_source: stays in its bounds, reaches them, and is the same everywhere") {
  random_source random{7};
  std::set<int> seen;
  for (int i = 0; i != 1000; ++i) seen.insert(random.between(-2, 2));
  CHECK(seen == std::set<int>{-2, -1, 0, 1, 2});
  CHECK(random.below(1) == 0);
  CHECK(random.between(3ms, 3ms) == 3ms);
  random_source other{0};
  CHECK(other() == 0xe220a8397b1dcdaf);
  CHECK(other() == 0x6e789e6aa1b965f4);
  static_assert(std::uniform_random_bit_generator<random_source>);
}

TEST_CASE("random_source: between() takes the widest bounds of a type, also negative ones") {
  random_source random{1};
  using limits = std::numeric_limits<std::int64_t>;
  bool negative = false, positive = false;
  for (int i = 0; i != 100; ++i) {
    const std::int64_t each = random.between(limits::min(), limits::max());
    negative |= each < 0;
    positive |= each > 0;
  }
  CHECK((negative && positive));
  CHECK(random.between(limits::min(), limits::min()) == limits::min());
  int hits = 0;
  for (int i = 0; i != 4000; ++i) hits += random.one_in(4) ? 1 : 0;
  CHECK((hits > 900 && hits < 1100));
}
}  // namespace
