// expect: std::ref(x) for a parameter that is an lvalue reference
// tests/compile_fail/spawn_reference_to_copy.cpp -- a parameter that is to change what was passed needs
// std::ref.
// SPDX-License-Identifier: MIT
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/task.hpp>
#include <functional>

coracle::task<> count(int& n) {
  ++n;
  co_return;
}
coracle::task<> wrong(coracle::async_scope& scope, int n) {
  scope.spawn(count, std::ref(n));
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  scope.spawn(count, n);
#endif
  co_await scope.join();
}
