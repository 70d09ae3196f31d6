// expect: a shared_task that is not awaited does nothing
// tests/compile_fail/dropped_shared_task.cpp -- a shared_task that nobody awaits.
// SPDX-License-Identifier: MIT
#include <coracle/core/shared_task.hpp>
#include <coracle/core/task.hpp>
#pragma GCC diagnostic error "-Wunused-result"  // as g++ calls it
#pragma GCC diagnostic error "-Wunused-value"   // as clang does

coracle::shared_task<> child();
coracle::task<> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  child();
#endif
  co_await child();
}
