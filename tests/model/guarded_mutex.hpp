// tests/model/guarded_mutex.hpp -- an async_mutex, what it guards, and coroutines that lock it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/async_mutex.hpp>

#include "../support/is_free.hpp"
#include "model_waits.hpp"

namespace coracle_test {
/// What the lock guards. If two hold the lock at once, the checker reports a data race.
struct guarded {
  coracle::async_mutex mutex;
  plain_int entered = 0;
};
inline detached enter(guarded& at) {
  co_await at.mutex.lock_async();
  ++at.entered;
  at.mutex.unlock();
}
inline void try_to_enter(guarded& at, int& entered) {
  if (!at.mutex.try_lock()) return;
  ++at.entered;
  ++entered;
  at.mutex.unlock();
}
/// Checks that the mutex is free and has no waiters: two attempts in a row succeed.
inline void expect_free(coracle::async_mutex& mutex) {
  for (int i = 0; i != 2; ++i) model_expect(is_free(mutex), "it is free");
}

/// The waiter either gets the lock or is cancelled, and the lock is never lost.
inline detached_in_place lock_until_stopped(const stoppable_place&, coracle::async_mutex& mutex,
                                            wait_end& end) {
  try {
    const auto lock = co_await mutex.scoped_lock_async();
    end = wait_end::carried_out;
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
}
}  // namespace coracle_test
