// expect: co_await semaphore.scoped_acquire()
// tests/compile_fail/permit_constructed.cpp -- a permit that would not be acquired.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/sync/async_semaphore.hpp>

coracle::task<> wrong(coracle::async_semaphore& semaphore) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const coracle::async_semaphore_permit permit{semaphore};
#else
  const auto permit = co_await semaphore.scoped_acquire();
#endif
  co_return;
}
