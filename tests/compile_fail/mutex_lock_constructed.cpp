// expect: const auto lock = co_await mutex.scoped_lock_async()
// tests/compile_fail/mutex_lock_constructed.cpp -- a lock that would not lock.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/sync/async_mutex.hpp>

coracle::task<> wrong(coracle::async_mutex& mutex) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const coracle::async_mutex_lock lock{mutex};
#else
  const auto lock = co_await mutex.scoped_lock_async();
#endif
  co_return;
}
