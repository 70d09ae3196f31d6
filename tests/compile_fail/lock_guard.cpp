// expect: co_await mutex.scoped_lock_async()
// tests/compile_fail/lock_guard.cpp -- a guard that would block the thread.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <mutex>

coracle::task<> wrong(coracle::async_mutex& mutex) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const std::lock_guard lock(mutex);
#else
  const auto lock = co_await mutex.scoped_lock_async();
#endif
  co_return;
}
