// tests/unit/search_patience_test.cpp -- how long an idle pool thread searches for work.
// SPDX-License-Identifier: MIT
#include "../../src/exec/search_patience.hpp"

#include <doctest/doctest.h>

namespace {
using coracle::detail::search_patience;

TEST_CASE("search_patience: a search in vain halves the next, down to one look") {
  search_patience patience;
  for (unsigned expected = search_patience::most; expected != 1; expected /= 2) {
    CHECK(patience.looks() == expected);
    patience.was_in_vain();
  }
  CHECK(patience.looks() == 1);
  patience.was_in_vain();
  CHECK(patience.looks() == 1);
}
TEST_CASE("search_patience: a search that finds something makes the next as long as can be") {
  search_patience patience;
  for (int i = 0; i != 10; ++i) patience.was_in_vain();
  CHECK(patience.looks() == 1);
  patience.paid_off();
  CHECK(patience.looks() == search_patience::most);
}
TEST_CASE("search_patience: of those in vain one in 64 is long") {
  search_patience patience;
  int long_ones = 0;
  for (int i = 0; i != 10; ++i) patience.was_in_vain();
  for (unsigned i = 0; i != 4 * search_patience::between_long_ones; ++i) {
    if (patience.looks() == search_patience::most) {
      ++long_ones;
    } else {
      CHECK(patience.looks() == 1);
    }
    patience.was_in_vain();
  }
  CHECK(long_ones == 4);
}
}  // namespace
