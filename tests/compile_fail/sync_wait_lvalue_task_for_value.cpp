// expect: or std::move of a task that has a name
// tests/compile_fail/sync_wait_lvalue_task_for_value.cpp -- also where its value is used.
// SPDX-License-Identifier: MIT
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>

coracle::task<int> child();
int wrong() {
  coracle::task<int> named = child();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  int value = coracle::sync_wait(named);
  return value;
#endif
  return coracle::sync_wait(std::move(named));
}
