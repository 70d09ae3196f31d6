// expect: void
// tests/compile_fail/await_void.cpp -- a call that returns nothing.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

void work();
coracle::task<> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await work();
#endif
  co_return;
}
