// expect: schedule_on needs an awaitable and then a scheduler
// tests/compile_fail/schedule_on_int.cpp -- a number is neither a scheduler nor an awaitable.
// SPDX-License-Identifier: MIT
#include <coracle/compose/via.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>

coracle::task<int> answer() { co_return 42; }
coracle::task<> wrong(coracle::run_loop& loop) {
  co_await coracle::schedule_on(answer(), loop);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::schedule_on(answer(), 42);
#endif
}
