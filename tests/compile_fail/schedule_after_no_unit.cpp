// expect: schedule_after() needs a duration, which has a unit, such as 10ms
// tests/compile_fail/schedule_after_no_unit.cpp -- a bare number is not a time.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>

coracle::task<> wrong(coracle::io_service& io) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await io.schedule_after(100);
#endif
  co_await io.schedule();
}
