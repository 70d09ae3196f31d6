// expect: use spawn() for a child whose result nobody awaits
// tests/compile_fail/dropped_future.cpp -- a future that is dropped at once.
// SPDX-License-Identifier: MIT
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/task.hpp>
#if defined(__clang__)
#pragma clang diagnostic error "-Wunused-value"
#else
#pragma GCC diagnostic error "-Wunused-result"
#endif

coracle::task<int> work() { co_return 1; }
coracle::task<> drop(coracle::async_scope& scope) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  scope.spawn_future(work());
#endif
  co_await scope.join();
}
