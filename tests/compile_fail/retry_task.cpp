// expect: needs a function that returns an awaitable
// tests/compile_fail/retry_task.cpp -- a task, which can be tried once.
// SPDX-License-Identifier: MIT
#include <coracle/time/retry.hpp>

coracle::task<> ask();
coracle::task<> wrong() {
  co_await coracle::retry({}, ask);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::retry({}, ask());
#endif
}
