// tests/unit/shared_task_bodies.hpp -- work whose result is shared.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/shared_task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>

namespace coracle_test::shared_task_bodies {
/// Returns `value` once `event` is set, and counts how often it was started.
template <class T>
coracle::shared_task<T> after(coracle::async_manual_reset_event& event, int& started, T value) {
  ++started;
  co_await event;
  co_return static_cast<T&&>(value);
}
template <class T>
coracle::shared_task<T> give(T value) {
  co_return static_cast<T&&>(value);
}
}  // namespace coracle_test::shared_task_bodies
