// expect: interleave needs a group size (or none), a range
// tests/compile_fail/interleave_int.cpp -- a number is no range.
// SPDX-License-Identifier: MIT
#include <coracle/compose/interleave.hpp>

void wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::interleave(48, 42, 7);
#endif
}
