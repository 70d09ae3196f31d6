// expect: this needs an awaitable: a call that returns a task, or std::move of a task that has a name
// tests/compile_fail/shielded_lvalue_task.cpp -- a task with a name is awaited as std::move(name).
// SPDX-License-Identifier: MIT
#include <coracle/core/with_environment.hpp>

coracle::task<> wrong(coracle::task<> child) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::shielded(child);
#endif
  co_await coracle::shielded(std::move(child));
}
