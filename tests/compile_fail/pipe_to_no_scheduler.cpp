// expect: schedule_on needs an awaitable and then a scheduler
// tests/compile_fail/pipe_to_no_scheduler.cpp -- a class without schedule() on the right of `|`.
// SPDX-License-Identifier: MIT
#include <coracle/compose/via.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>

struct plain_loop {};
coracle::task<int> answer() { co_return 42; }
coracle::task<> wrong([[maybe_unused]] coracle::run_loop& loop, [[maybe_unused]] plain_loop& none) {
#ifdef CORACLE_COMPILE_FAIL_CONTROL
  co_await (answer() | coracle::schedule_on(loop));
#else
  co_await (answer() | coracle::schedule_on(none));
#endif
}
