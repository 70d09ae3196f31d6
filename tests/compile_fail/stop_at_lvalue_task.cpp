// expect: a timeout needs an awaitable
// tests/compile_fail/stop_at_lvalue_task.cpp -- a task with a name is awaited as std::move(name).
// SPDX-License-Identifier: MIT
#include <coracle/time/timeout.hpp>

coracle::task<> wrong(coracle::task<> child) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::stop_at(child, {});
#endif
  co_await std::move(child);
}
