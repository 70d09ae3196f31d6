// expect: a lock is not taken until this is awaited
// tests/compile_fail/dropped_lock.cpp -- a lock that is asked for and never awaited.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/sync/async_mutex.hpp>
#if defined(__clang__)
#pragma clang diagnostic error "-Wunused-value"
#else
#pragma GCC diagnostic error "-Wunused-result"
#endif

coracle::task<> drop(coracle::async_mutex& mutex) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  mutex.scoped_lock_async();
#endif
  co_await mutex.lock_async();
  mutex.unlock();
}
