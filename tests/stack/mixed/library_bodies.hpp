// tests/stack/mixed/library_bodies.hpp -- a task whose body another compiler may compile.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>

/// Thrown by half(), which counts those that are alive.
struct odd_number {
  odd_number() noexcept { ++alive; }
  odd_number(const odd_number&) noexcept { ++alive; }
  ~odd_number() { --alive; }
  static inline int alive = 0;
};

coracle::detail::library_task<int> half_body(int n);
CORACLE_CORO_WRAPPER() inline coracle::task<int> half(int n) { return half_body(n); }
