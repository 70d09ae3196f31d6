// tests/unit/async_scope_children.hpp -- children of an async_scope, and coroutines that join it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <stdexcept>

#include "../support/detached.hpp"

namespace coracle_test {
inline coracle::task<> wait_and_count(coracle::async_manual_reset_event& event, int& count) {
  co_await event;
  ++count;
}
inline coracle::task<> count_one(int& count) {
  ++count;
  co_return;
}
inline coracle::task<> fail_at_once(const char* why) {
  throw std::runtime_error(why);
  co_return;
}
struct error_counts {
  int made = 0;
  int alive = 0;
};
/// Counts its objects.
struct counted_error {
  static inline error_counts log;
  explicit counted_error(int which) : id(which) { ++log.made, ++log.alive; }
  counted_error(const counted_error& other) : id(other.id) { ++log.alive; }
  counted_error& operator=(const counted_error&) = delete;
  ~counted_error() { --log.alive; }
  int id;
};

inline coracle::task<> join(coracle::async_scope& scope) { co_await scope.join(); }
inline detached join_and_tell(coracle::async_scope& scope, bool& joined) {
  co_await scope.join();
  joined = true;
}
}  // namespace coracle_test
