// expect: with_value(work(), local, value) begins with an awaitable
// tests/compile_fail/with_value_wrong_order.cpp -- the value before the work.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>

coracle::task_local<int> request{0};
coracle::task<> work();
coracle::task<> wrong() {
  co_await coracle::with_value(work(), request, 1);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::with_value(request, 1, work());
#endif
}
