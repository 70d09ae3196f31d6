// expect: co_await needs an awaitable
// tests/compile_fail/await_int.cpp -- a number cannot be awaited.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

coracle::task<> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await 42;
#endif
  co_return;
}
