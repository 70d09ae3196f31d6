// expect: nothing is called until this is awaited
// tests/compile_fail/dropped_blocking.cpp -- a blocking() that is not awaited.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/exec/blocking.hpp>
#if defined(__clang__)
#pragma clang diagnostic error "-Wunused-value"
#else
#pragma GCC diagnostic error "-Wunused-result"
#endif

coracle::task<> drop() {
  const auto call = [] { return 42; };
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::blocking(call);
#endif
  co_await coracle::blocking(call);
}
