// expect: unused variable 'begun'
// tests/compile_fail/unawaited_task.cpp -- work that seems to run meanwhile, and never does.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <utility>
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wunused-variable"

coracle::task<int> child();
coracle::task<> wrong(int& sum) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  auto begun = child();
#else
  auto begun = child();
  sum += co_await std::move(begun);
#endif
  ++sum;
  co_return;
}
#pragma GCC diagnostic pop
