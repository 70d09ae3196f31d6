// expect: blocking needs a function
// tests/compile_fail/blocking_int.cpp -- a number cannot be called.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/exec/blocking.hpp>

coracle::task<> wrong() {
  const auto call = [] { return 42; };
  co_await coracle::blocking(call);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::blocking(42);
#endif
}
