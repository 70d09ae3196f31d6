// tests/unit/no_co_return_test.cpp -- checked builds report a coroutine that flows off its end.
// SPDX-License-Identifier: MIT
#include "../support/no_co_return.hpp"

#include <doctest/doctest.h>

namespace {
TEST_CASE("co_return: a coroutine that ends without one ends the program and is named, whatever its type" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::wrong_ends() == 0);
}
}  // namespace
