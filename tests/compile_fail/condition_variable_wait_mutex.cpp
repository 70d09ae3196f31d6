// expect: wait(lock, predicate) needs a named async_mutex_lock, from co_await mutex.scoped_lock_async()
// tests/compile_fail/condition_variable_wait_mutex.cpp -- a wait for a notification without the lock.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/sync/async_condition_variable.hpp>

coracle::task<> wrong(coracle::async_mutex& mutex, coracle::async_condition_variable& changed) {
  auto lock = co_await mutex.scoped_lock_async();
  co_await changed.wait(lock);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await changed.wait(mutex);
#endif
}
