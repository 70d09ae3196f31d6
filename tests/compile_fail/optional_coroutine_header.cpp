// expect: coroutine
// expect: promise
// tests/compile_fail/optional_coroutine_header.cpp -- coracle.hpp does not include it.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <optional>

std::optional<int> two(std::optional<int> number) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_return 2;
#else
  return number;
#endif
}
