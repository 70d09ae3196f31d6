// expect: fmap(work(), function)
// tests/compile_fail/fmap_wrong_order.cpp -- cppcoro's order: the function first.
// SPDX-License-Identifier: MIT
#include <coracle/compose/fmap.hpp>
#include <coracle/core/task.hpp>

int twice(int n) { return 2 * n; }
coracle::task<int> answer() { co_return 42; }
coracle::task<> wrong() {
  co_await coracle::fmap(answer(), twice);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::fmap(twice, answer());
#endif
}
