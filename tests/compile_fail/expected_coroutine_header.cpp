// expect: coroutine
// expect: promise
// tests/compile_fail/expected_coroutine_header.cpp -- coracle.hpp does not include it.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>

coracle::expected<int, char> two(coracle::expected<int, char> number) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_return 2;
#else
  return number;
#endif
}
