// expect: unused variable 'lock'
// tests/compile_fail/unawaited_lock.cpp -- a guard's name without a guard.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/sync/async_mutex.hpp>
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wunused-variable"

coracle::task<> wrong(coracle::async_mutex& mutex, int& sum) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const auto lock = mutex.scoped_lock_async();
#else
  const auto lock = co_await mutex.scoped_lock_async();
#endif
  ++sum;
  co_return;
}
#pragma GCC diagnostic pop
