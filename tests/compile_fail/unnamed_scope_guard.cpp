// expect: give the guard a name
// tests/compile_fail/unnamed_scope_guard.cpp -- a guard without a name ends with its line.
// SPDX-License-Identifier: MIT
#include <coracle/utility/on_scope_exit.hpp>
#if defined(__clang__)
#pragma clang diagnostic error "-Wunused-value"
#pragma clang diagnostic error "-Wunused-result"
#else
#pragma GCC diagnostic error "-Wunused-result"
#endif

void wrong(int& count) {
  const auto right = coracle::on_scope_exit([&count] { --count; });
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::on_scope_exit([&count] { --count; });
#endif
}
