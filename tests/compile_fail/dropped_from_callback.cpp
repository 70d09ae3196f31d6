// expect: nothing is initiated until this is awaited
// tests/compile_fail/dropped_from_callback.cpp -- an operation that is not awaited.
// SPDX-License-Identifier: MIT
#include <coracle/compose/from_callback.hpp>

#if defined(__clang__)
#pragma clang diagnostic error "-Wunused-value"
#else
#pragma GCC diagnostic error "-Wunused-result"
#endif

void drop() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::from_callback<int>([](auto done) { done(1); });
#endif
}
