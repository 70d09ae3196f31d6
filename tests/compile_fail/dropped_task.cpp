// expect: a task that is not awaited does nothing
// tests/compile_fail/dropped_task.cpp -- a task that nobody awaits.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#pragma GCC diagnostic error "-Wunused-result"  // as g++ calls it
#pragma GCC diagnostic error "-Wunused-value"   // as clang does

coracle::task<> child();
coracle::task<> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  child();
#endif
  co_await child();
}
