// expect: the policy comes before the attempt: retry(policy, attempt)
// tests/compile_fail/retry_wrong_order.cpp -- the policy in the last place.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/time/retry.hpp>

coracle::task<int> ask();
coracle::task<int> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::retry(ask, {.max_attempts = 3});
#endif
  co_return co_await coracle::retry({.max_attempts = 3}, ask);
}
