// expect: schedule_on(work(), pool)
// tests/compile_fail/schedule_on_wrong_order.cpp -- cppcoro's order: the scheduler first.
// SPDX-License-Identifier: MIT
#include <coracle/compose/via.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>

coracle::task<int> answer() { co_return 42; }
coracle::task<> wrong(coracle::run_loop& loop) {
  co_await coracle::schedule_on(answer(), loop);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::schedule_on(loop, answer());
#endif
}
