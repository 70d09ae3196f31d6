// expect: invoke(f, args...) needs a function that returns an awaitable
// tests/compile_fail/invoke_plain_function.cpp -- a function that returns a number cannot be awaited.
// SPDX-License-Identifier: MIT
#include <coracle/core/invoke.hpp>
#include <coracle/core/task.hpp>

coracle::task<int> answer(int n) { co_return n; }
coracle::task<> wrong() {
  co_await coracle::invoke(answer, 42);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::invoke([](int n) { return n; }, 42);
#endif
}
