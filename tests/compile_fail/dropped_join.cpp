// expect: nothing is joined until this is awaited
// tests/compile_fail/dropped_join.cpp -- a join() that is not awaited.
// SPDX-License-Identifier: MIT
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/task.hpp>
#if defined(__clang__)
#pragma clang diagnostic error "-Wunused-value"
#else
#pragma GCC diagnostic error "-Wunused-result"
#endif

coracle::task<> drop(coracle::async_scope& scope) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  scope.join();
#endif
  co_await scope.join();
}
