// expect: co_await (work() | fmap(function))
// tests/compile_fail/pipe_without_parentheses.cpp -- co_await binds closer than `|`, so a number meets
// fmap().
// SPDX-License-Identifier: MIT
#include <coracle/compose/fmap.hpp>
#include <coracle/core/task.hpp>

coracle::task<int> answer() { co_return 42; }
coracle::task<> wrong() {
  const auto twice = [](int n) { return 2 * n; };
  co_await (answer() | coracle::fmap(twice));
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await answer() | coracle::fmap(twice);
#endif
}
