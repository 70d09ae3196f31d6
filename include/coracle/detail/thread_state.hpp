// coracle/detail/thread_state.hpp -- what the library keeps for each thread.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/detail/config.hpp>
#include <coroutine>
#include <cstdint>

namespace coracle {
class executor;
struct resumption;
}  // namespace coracle

namespace coracle::detail {
class fork_queue;
class shared_end;
class stop_state;

/// So many awaits in a row that need not wait, then a coroutine gives way to the others on its executor.
inline constexpr unsigned ready_awaits_in_a_row = 128;

/// So many wake-ups outside any scheduler run inside one another on a thread; those deeper wait: core/executor.hpp.
inline constexpr unsigned max_wake_depth = 64;

/// Starts of children that run inside one another: core/nested_starts.hpp.
struct nested_starts {
  static constexpr unsigned most = 16;
  unsigned depth = 0;
  resumption* first = nullptr;  ///< those put off: each a waiter that starts a child when it is resumed
  resumption* last = nullptr;
};
/// Stop requests that run inside one another, from a state to one that is linked to it: core/stop_state.hpp. Those too deep
/// wait for the outermost, oldest first.
struct linked_requests {
  static constexpr unsigned most = 16;
  unsigned depth = 0;
  stop_state* first = nullptr;
  stop_state* last = nullptr;
};

/// Frames of shared tasks that are destroyed inside one another, each holding the last handle of the next: shared_task.hpp.
/// Those too deep wait for the outermost.
struct shared_destructions {
  static constexpr unsigned most = 16;
  unsigned depth = 0;
  shared_end* first = nullptr;
};

inline constexpr char no_executor = 0;  // its address is none's

struct thread_state {
  std::coroutine_handle<> next;  ///< what the drain loop runs when the running coroutine returns to it
  bool draining = false;         ///< a drain loop is below on this stack
  unsigned wakes_left = max_wake_depth;                ///< how many wake-ups may still run inside one another
  unsigned ready_awaits_left = ready_awaits_in_a_row;  ///< until one gives way
  executor* current = nullptr;                         ///< where the running coroutine belongs; null: nowhere
  resumption* late_head = nullptr;  ///< wake-ups put off because the depth was reached, oldest first
  resumption* late_tail = nullptr;
  fork_queue* forks = nullptr;           ///< of the static_thread_pool whose thread it is
  const void* forks_for = &no_executor;  ///< that pool's executor; never null
  nested_starts starts;
  linked_requests requests;
  shared_destructions destructions;

  /// Both in one comparison.
  [[nodiscard]] bool has_something_left() const noexcept {
    const auto late = reinterpret_cast<std::uintptr_t>(late_head);
    return (reinterpret_cast<std::uintptr_t>(next.address()) | late) != 0;
  }
  /// The running coroutine belongs to the pool from whose `forks` others take. One comparison; `forks` is not null then.
  [[nodiscard]] bool may_fork() const noexcept { return current == forks_for; }
};

/// The calling thread's state. Never keep the reference across a suspension.
#if defined(CORACLE_MODEL)
thread_state& this_thread() noexcept;  // a thread of the model checker's has its own
#else
CORACLE_VISIBLE() inline constinit thread_local thread_state state_of_this_thread{};
CORACLE_THREAD_LOCAL_ACCESS() inline thread_state& this_thread() noexcept { return state_of_this_thread; }
#endif
}  // namespace coracle::detail
