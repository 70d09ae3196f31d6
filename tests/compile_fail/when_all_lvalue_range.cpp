// expect: when_all needs awaitables
// expect: std::move
// tests/compile_fail/when_all_lvalue_range.cpp -- a range of tasks that has a name is not moved in.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>

coracle::task<int> answer() { co_return 42; }
coracle::task<> wrong() {
  std::vector<coracle::task<int>> first, second;
  first.push_back(answer());
  co_await coracle::when_all(std::move(first));
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::when_all(second);
#endif
}
