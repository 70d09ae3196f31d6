// tests/unit/async_condition_variable_waiters.hpp -- coroutines that wait for an async_condition_variable.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/async_condition_variable.hpp>
#include <vector>

#include "../support/detached.hpp"
#include "../support/is_free.hpp"

namespace coracle_test {
/// A mutex, the value that it protects, and the condition variable that signals its changes.
struct shared {
  coracle::async_mutex mutex;
  coracle::async_condition_variable changed;
  int value = 0;
  std::vector<int> log;
};
/// Logs its name if it has the lock after the wait, otherwise -name.
inline detached wait_once(shared& s, int name) {
  auto lock = co_await s.mutex.scoped_lock_async();
  co_await s.changed.wait(lock);
  s.log.push_back(is_free(s.mutex) ? -name : name);
}
inline detached wait_for_value(shared& s, int wanted) {
  auto lock = co_await s.mutex.scoped_lock_async();
  const auto reached = [&s, wanted] { return s.value >= wanted; };
  co_await s.changed.wait(lock, reached);
  s.log.push_back(is_free(s.mutex) ? -wanted : wanted);
}
}  // namespace coracle_test
