// expect: yield() does nothing until it is awaited
// tests/compile_fail/dropped_yield.cpp -- a yield() that is not awaited.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#if defined(__clang__)
#pragma clang diagnostic error "-Wunused-value"
#else
#pragma GCC diagnostic error "-Wunused-result"
#endif

coracle::task<> drop() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::this_task::yield();
#endif
  co_await coracle::this_task::yield();
}
