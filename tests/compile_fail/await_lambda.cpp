// expect: this is a function: call it, as in co_await f()
// tests/compile_fail/await_lambda.cpp -- a lambda coroutine in place of its call.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

coracle::task<> wrong() {
  const auto work = []() -> coracle::task<> { co_return; };
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await work;
#endif
  co_await work();
}
