// expect: blocking(fn) does not await what fn returns: co_await fn(), and call blocking() in it around what blocks
// tests/compile_fail/blocking_task.cpp -- a task, which the thread of blocking() would not run.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/exec/blocking.hpp>

coracle::task<int> count_lines();
coracle::task<> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const int lines = co_await coracle::blocking(count_lines);
#else
  const int lines = co_await count_lines();
#endif
  static_cast<void>(lines);
}
