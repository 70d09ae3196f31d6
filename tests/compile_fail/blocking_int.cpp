// expect: blocking needs a function that can be called without arguments, or with a stop_token: blocking([&] { return read(file); }); before it, if need be, a blocking_pool
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
