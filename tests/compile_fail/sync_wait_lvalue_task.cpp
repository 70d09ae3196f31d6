// expect: or std::move of a task that has a name
// tests/compile_fail/sync_wait_lvalue_task.cpp -- a task is used up by sync_wait.
// SPDX-License-Identifier: MIT
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>

coracle::task<int> child();
int wrong() {
  coracle::task<int> named = child();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::sync_wait(named);
#endif
  return coracle::sync_wait(std::move(named));
}
