// tests/unit/async_mutex_waiters.hpp -- coroutines that wait for an async_mutex.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/async_mutex.hpp>
#include <vector>

#include "../support/detached.hpp"

namespace coracle_test {
/// Keeps the lock; the test unlocks.
inline detached lock_and_log(coracle::async_mutex& mutex, std::vector<int>& log, int name) {
  co_await mutex.lock_async();
  log.push_back(name);
}
}  // namespace coracle_test
