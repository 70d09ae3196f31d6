// tests/unit/search_patience_test.cpp -- how long an idle pool thread searches for work.
// SPDX-License-Identifier: MIT
#include "../../src/exec/search_patience.hpp"

#include <doctest/doctest.h>

namespace {
using coracle::detail::search_patience;

TEST_CASE("search_patience: a failed search halves the next one, down to one round") {
  search_patience patience;
  for (unsigned expected = search_patience::max_rounds; expected != 1; expected /= 2) {
    CHECK(patience.rounds() == expected);
    patience.failed();
  }
  CHECK(patience.rounds() == 1);
  patience.failed();
  CHECK(patience.rounds() == 1);
}
TEST_CASE("search_patience: a successful search makes the next one as long as possible") {
  search_patience patience;
  for (int i = 0; i != 10; ++i) patience.failed();
  CHECK(patience.rounds() == 1);
  patience.succeeded();
  CHECK(patience.rounds() == search_patience::max_rounds);
}
TEST_CASE("search_patience: one in 64 failed searches is long") {
  search_patience patience;
  int long_ones = 0;
  for (int i = 0; i != 10; ++i) patience.failed();
  for (unsigned i = 0; i != 4 * search_patience::searches_per_long_one; ++i) {
    if (patience.rounds() == search_patience::max_rounds) {
      ++long_ones;
    } else {
      CHECK(patience.rounds() == 1);
    }
    patience.failed();
  }
  CHECK(long_ones == 4);
}
}  // namespace
