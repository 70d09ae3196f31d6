// expect: a timeout is a duration with its unit, such as 100ms
// tests/compile_fail/timeout_no_unit.cpp -- a bare number is not a time.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/time/timeout.hpp>

coracle::task<> work() { co_return; }

coracle::task<> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::timeout(work(), 5);
#endif
  co_return;
}
