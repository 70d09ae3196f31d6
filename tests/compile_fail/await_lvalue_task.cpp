// expect: this object can be awaited only once: write co_await std::move(object)
// tests/compile_fail/await_lvalue_task.cpp -- a task is used up by its await.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

coracle::task<int> child();
coracle::task<int> wrong() {
  coracle::task<int> named = child();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_return co_await named;
#endif
  co_return co_await std::move(named);
}
