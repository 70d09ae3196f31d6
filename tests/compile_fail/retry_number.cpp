// expect: begins with a retry_policy: {.max_attempts = 3}
// tests/compile_fail/retry_number.cpp -- how often, without saying so.
// SPDX-License-Identifier: MIT
#include <coracle/time/retry.hpp>

coracle::task<> ask();
coracle::task<> wrong() {
  co_await coracle::retry({.max_attempts = 3}, ask);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::retry(3, ask);
#endif
}
