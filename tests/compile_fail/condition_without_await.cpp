// expect: a task is not a condition
// tests/compile_fail/condition_without_await.cpp -- a call that gives a task, as a condition.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

coracle::task<bool> child();
coracle::task<> wrong() {
  int found = 0;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  if (child()) ++found;
#else
  if (co_await child()) ++found;
#endif
  static_cast<void>(found);
}
