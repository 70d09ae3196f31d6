// expect: a sleep does nothing until it is awaited
// tests/compile_fail/dropped_sleep.cpp -- a sleep that nobody awaits.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/time/sleep.hpp>
#pragma GCC diagnostic error "-Wunused-result"  // as g++ calls it
#pragma GCC diagnostic error "-Wunused-value"   // as clang does

coracle::task<> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::sleep_for(std::chrono::seconds(1));
#endif
  co_return;
}
