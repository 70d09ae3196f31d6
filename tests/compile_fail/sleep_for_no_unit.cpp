// expect: sleep_for needs a duration, which has a unit, such as 10ms
// tests/compile_fail/sleep_for_no_unit.cpp -- a bare number is not a time.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/time/sleep.hpp>

coracle::task<> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::sleep_for(5);
#endif
  co_return;
}
