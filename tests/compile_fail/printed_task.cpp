// expect first: deleted
// expect: co_await the task, which gives its result
// tests/compile_fail/printed_task.cpp -- a task that is printed and not awaited.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <iostream>

coracle::task<int> count();
coracle::task<> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  std::cout << "counted " << count() << " times\n";
#else
  std::cout << "counted " << co_await count() << " times\n";
#endif
  co_return;
}
