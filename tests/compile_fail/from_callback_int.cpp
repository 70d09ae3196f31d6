// expect: needs a function that takes a coracle::completion<T>
// tests/compile_fail/from_callback_int.cpp -- a number initiates nothing.
// SPDX-License-Identifier: MIT
#include <coracle/compose/from_callback.hpp>
#include <coracle/core/task.hpp>

coracle::task<> wrong() {
  co_await coracle::from_callback<int>([](auto done) { done(1); });
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::from_callback<int>(42);
#endif
}
