// expect: needs an awaitable, a function that returns an awaitable
// tests/compile_fail/async_finally_task.cpp -- a clean-up that is a task and no function.
// SPDX-License-Identifier: MIT
#include <coracle/time/async_finally.hpp>

coracle::task<> work();
coracle::task<> clean();
coracle::task<> wrong() {
  co_await coracle::async_finally(work(), clean, std::chrono::seconds(1));
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::async_finally(work(), clean(), std::chrono::seconds(1));
#endif
}
