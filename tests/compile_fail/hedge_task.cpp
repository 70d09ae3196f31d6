// expect: needs a std::chrono::duration and a function that returns an awaitable
// tests/compile_fail/hedge_task.cpp -- a task, of which there is only one.
// SPDX-License-Identifier: MIT
#include <coracle/time/hedge.hpp>

coracle::task<> ask();
coracle::task<> wrong() {
  co_await coracle::hedge(std::chrono::seconds(1), ask);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::hedge(std::chrono::seconds(1), ask());
#endif
}
