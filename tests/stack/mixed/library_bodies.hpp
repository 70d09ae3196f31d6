// tests/stack/mixed/library_bodies.hpp -- a task whose body another compiler may compile.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>

/// Thrown by half(), which counts those that are alive.
struct odd_number {
  odd_number() noexcept { ++alive; }
  odd_number(const odd_number&) noexcept { ++alive; }
  ~odd_number() { --alive; }
  static inline int alive = 0;
};

coracle::detail::library_task<int> half_body(int n);
CORACLE_CORO_WRAPPER() inline coracle::task<int> half(int n) { return half_body(n); }

/// A local of wait_below(), which counts those that are alive.
struct local_of_wait {
  local_of_wait() noexcept { ++alive; }
  local_of_wait(const local_of_wait&) = delete;
  ~local_of_wait() { --alive; }
  static inline int alive = 0;
};

/// Waits for the event that many bodies further down.
coracle::detail::library_task<int> wait_below_body(int levels,
                                                   const coracle::async_manual_reset_event& event);
CORACLE_CORO_WRAPPER()
inline coracle::task<int> wait_below(int levels, const coracle::async_manual_reset_event& event) {
  return wait_below_body(levels, event);
}
