// tests/unit/async_shared_mutex_waiters.hpp -- coroutines that wait for an async_shared_mutex.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/async_shared_mutex.hpp>
#include <string>

#include "../support/detached.hpp"

namespace coracle_test {
// Each logs one letter when it has the lock and keeps it; the test unlocks.
inline detached read(coracle::async_shared_mutex& mutex, std::string& log, char name) {
  co_await mutex.lock_shared_async();
  log += name;
}
inline detached write(coracle::async_shared_mutex& mutex, std::string& log, char name) {
  co_await mutex.lock_async();
  log += name;
}
}  // namespace coracle_test
