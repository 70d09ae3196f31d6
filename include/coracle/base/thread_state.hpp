// coracle/base/thread_state.hpp -- what the library keeps for each thread.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <coracle/base/tagged_pointer.hpp>
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

/// So many wake-ups outside any scheduler run inside one another on a thread; those deeper wait: core/executor.hpp.
inline constexpr unsigned max_wake_depth = 64;

/// Starts of children that run inside one another: core/detail/nested_starts.hpp.
struct nested_starts {
  static constexpr unsigned most = 16;
  unsigned depth = 0;
  resumption* first = nullptr;  ///< those put off: each a waiter that starts a child when it is resumed
  resumption* last = nullptr;
};
/// Stop requests that run inside one another, from a state to one that is linked to it: core/detail/stop_state.hpp. Those too deep
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
  shared_end* last = nullptr;
};
/// How many awaits in a row a thread's coroutines may find ready before one gives way to the others on its executor.
class ready_budget {
 public:
  static constexpr unsigned most_awaits = 128;
  /// A when_all that was divided among threads is a step of a computation, and many of them end in a row.
  static constexpr unsigned joins_per_await = 16;
  /// About 50 us, by a clock of 2 to 5 ticks a nanosecond.
  static constexpr std::uint64_t slice = 1u << 17;
  using clock = std::uint64_t() noexcept;

  /// Both return true if that was the last one. The budget is to be renewed then.
  [[nodiscard]] bool spend_await() noexcept { return --awaits_left_ == 0; }
  [[nodiscard]] bool spend_join() noexcept { return --joins_left_ == 0; }
  /// The running coroutine waits, so others run meanwhile.
  void begin() noexcept { awaits_left_ = granted_; }
  /// Grants fewer awaits if those granted before have lasted longer than a slice. A thread that slept meanwhile gets too few;
  /// the number doubles with each renewal after that.
  CORACLE_COLD() void renew() noexcept {
    if (clock_) {
      const std::uint64_t now = clock_(), lasted = now - granted_at_;
      granted_at_ = now;
      const std::uint64_t fit = lasted == 0 ? most_awaits : granted_ * slice / lasted;
      const unsigned limit = granted_ < most_awaits / 2 ? 2 * granted_ : most_awaits;
      granted_ = fit == 0 ? 1 : fit < limit ? static_cast<unsigned>(fit) : limit;
    }
    begin();
    joins_left_ = granted_ * joins_per_await;
  }
  /// Until the next renewal, or the next wait.
  void set_left(unsigned count) noexcept { awaits_left_ = joins_left_ = count; }

 private:
  friend class timed_budget;
  unsigned awaits_left_ = most_awaits;
  unsigned granted_ = most_awaits;
  unsigned joins_left_ = most_awaits * joins_per_await;
  std::uint64_t granted_at_ = 0;
  clock* clock_ = nullptr;  // null: only the count matters, as where a test runs the coroutines
};
/// While it lives, the budget `of` a thread depends on time, too.
class timed_budget {
 public:
  timed_budget(ready_budget& of, ready_budget::clock* clock) noexcept : budget_(of), outer_(of) {
    budget_.clock_ = clock;
  }
  timed_budget(const timed_budget&) = delete;
  timed_budget& operator=(const timed_budget&) = delete;
  ~timed_budget() { budget_ = outer_; }

 private:
  ready_budget& budget_;
  const ready_budget outer_;
};

inline constexpr char no_executor = 0;  // its address is none's

struct thread_state {
  std::coroutine_handle<> next;  ///< what the drain loop runs when the running coroutine returns to it
  bool draining = false;         ///< a drain loop is below on this stack
  unsigned wakes_left = max_wake_depth;  ///< how many wake-ups may still run inside one another
  ready_budget budget;
  executor* current = nullptr;      ///< where the running coroutine belongs; null: nowhere
  resumption* late_head = nullptr;  ///< wake-ups put off because the depth was reached, oldest first
  resumption* late_tail = nullptr;
  fork_queue* forks = nullptr;           ///< of the static_thread_pool whose thread it is
  const void* forks_for = &no_executor;  ///< that pool's executor; never null
  nested_starts starts;
  linked_requests requests;
  shared_destructions destructions;

  /// Both in one comparison.
  [[nodiscard]] bool has_something_left() const noexcept {
    return (address_of(next.address()) | address_of(late_head)) != 0;
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
