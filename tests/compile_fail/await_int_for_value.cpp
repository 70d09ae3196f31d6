// expect: co_await needs an awaitable
// tests/compile_fail/await_int_for_value.cpp -- nor where its value is used.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

coracle::task<int> wrong() {
  int value = 0;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  value = co_await 42;
#endif
  co_return value;
}
