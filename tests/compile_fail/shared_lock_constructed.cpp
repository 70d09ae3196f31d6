// expect: co_await mutex.scoped_lock_shared_async()
// tests/compile_fail/shared_lock_constructed.cpp -- a shared lock that would not lock.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/sync/async_shared_mutex.hpp>

coracle::task<> wrong(coracle::async_shared_mutex& mutex) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const coracle::async_shared_mutex_shared_lock lock{mutex};
#else
  const auto lock = co_await mutex.scoped_lock_shared_async();
#endif
  co_return;
}
