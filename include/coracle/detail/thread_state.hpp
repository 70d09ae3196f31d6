// coracle/detail/thread_state.hpp -- what the library keeps for each thread.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/detail/config.hpp>
#include <coroutine>

namespace coracle {
class executor;
struct resumption;
}  // namespace coracle

namespace coracle::detail {
struct thread_state {
  std::coroutine_handle<> next;     ///< what the drain loop runs when the running coroutine returns to it
  bool draining = false;            ///< a drain loop is below on this stack
  unsigned wake_depth = 0;          ///< wake-ups outside any scheduler that run inside one another
  executor* current = nullptr;      ///< where the running coroutine belongs; null: nowhere
  resumption* late_head = nullptr;  ///< wake-ups put off because the depth was reached, oldest first
  resumption* late_tail = nullptr;
};

CORACLE_VISIBLE() inline constinit thread_local thread_state state_of_this_thread{};

/// The calling thread's state. Never keep the reference across a suspension.
CORACLE_THREAD_LOCAL_ACCESS() inline thread_state& this_thread() noexcept { return state_of_this_thread; }
}  // namespace coracle::detail
