// expect: this coroutine returns a reference, and this is a temporary or a local
// tests/compile_fail/co_return_local_by_reference.cpp -- a reference to what ends with the coroutine.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

coracle::task<int&> right(int& number) { co_return number; }
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::task<int&> wrong() {
  int number = 1;
  co_return number;
}
#endif
