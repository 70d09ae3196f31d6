// expect: this is a function: call it, as in co_await f()
// tests/compile_fail/await_function.cpp -- a function in place of its call.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

coracle::task<> work();
coracle::task<> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await work;
#endif
  co_await work();
}
