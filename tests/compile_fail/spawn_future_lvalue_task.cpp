// expect: spawn_future needs an awaitable that can be moved in
// tests/compile_fail/spawn_future_lvalue_task.cpp -- a task that has a name is not moved in.
// SPDX-License-Identifier: MIT
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/task.hpp>

coracle::task<> work() { co_return; }
coracle::task<> wrong(coracle::async_scope& scope) {
  auto first = work();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  auto future = scope.spawn_future(first);
#endif
  co_await scope.join();
}
