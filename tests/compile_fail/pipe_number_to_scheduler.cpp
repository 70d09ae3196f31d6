// expect: schedule_on needs an awaitable and then a scheduler
// tests/compile_fail/pipe_number_to_scheduler.cpp -- a number on the left of `| schedule_on(loop)`.
// SPDX-License-Identifier: MIT
#include <coracle/compose/via.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>

coracle::task<int> answer() { co_return 42; }
coracle::task<> wrong(coracle::run_loop& loop) {
  co_await (answer() | coracle::schedule_on(loop));
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await answer() | coracle::schedule_on(loop);
#endif
}
