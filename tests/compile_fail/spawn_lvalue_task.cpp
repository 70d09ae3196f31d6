// expect: spawn needs an awaitable that can be moved in
// expect: std::move
// tests/compile_fail/spawn_lvalue_task.cpp -- a task that has a name is not moved in.
// SPDX-License-Identifier: MIT
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/task.hpp>

coracle::task<> work() { co_return; }
coracle::task<> wrong(coracle::async_scope& scope) {
  auto first = work(), second = work();
  scope.spawn(std::move(first));
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  scope.spawn(second);
#endif
  co_await scope.join();
}
