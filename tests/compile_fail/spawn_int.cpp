// expect: spawn needs an awaitable that can be moved in
// tests/compile_fail/spawn_int.cpp -- a number is no child of a scope.
// SPDX-License-Identifier: MIT
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/task.hpp>

coracle::task<> work() { co_return; }
coracle::task<> wrong(coracle::async_scope& scope) {
  scope.spawn(work());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  scope.spawn(42);
#endif
  co_await scope.join();
}
