// expect: with_scope needs, perhaps after a scope_policy, a function that takes an async_scope& and returns a task
// tests/compile_fail/with_scope_without_scope.cpp -- a body that takes no scope.
// SPDX-License-Identifier: MIT
#include <coracle/compose/with_scope.hpp>

coracle::task<> work() { co_return; }
coracle::task<> wrong() {
  co_await work();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::with_scope(work);
#endif
}
