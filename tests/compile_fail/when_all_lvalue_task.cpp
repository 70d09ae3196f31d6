// expect: when_all needs awaitables
// expect: std::move
// tests/compile_fail/when_all_lvalue_task.cpp -- a task that has a name is not moved in.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>

coracle::task<int> answer() { co_return 42; }
coracle::task<> wrong() {
  auto first = answer();
  co_await coracle::when_all(std::move(first), answer());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  auto second = answer();
  co_await coracle::when_all(second, answer());
#endif
}
