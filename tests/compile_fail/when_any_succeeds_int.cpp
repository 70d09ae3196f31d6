// expect: when_any_succeeds needs awaitables
// tests/compile_fail/when_any_succeeds_int.cpp -- a number among the children.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_any.hpp>
#include <coracle/core/task.hpp>

coracle::task<int> answer() { co_return 42; }
coracle::task<> wrong() {
  co_await answer();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::when_any_succeeds(answer(), 42);
#endif
}
