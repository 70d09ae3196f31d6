// coracle/base/thread_state.hpp -- the library's per-thread state.
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
class strand_state;

/// The limit of nested wake-ups outside any scheduler on one thread; deeper ones are deferred:
/// core/executor.hpp.
inline constexpr unsigned max_wake_depth = 64;

/// What this thread resumes later, oldest first: core/executor.hpp.
struct late_resumptions {
  resumption* first = nullptr;
  resumption* last = nullptr;  ///< meaningful only while `first` is not null
};
/// Nested starts of children: core/detail/nested_starts.hpp.
struct nested_starts {
  static constexpr unsigned most = 16;
  unsigned depth = 0;
  late_resumptions late;  ///< each a waiter that starts a child when resumed
};
/// Nested stop requests, from a state to one linked to it: core/detail/stop_state.hpp. Those too deep are
/// deferred to the outermost, oldest first.
struct linked_requests {
  static constexpr unsigned most = 16;
  unsigned depth = 0;
  stop_state* first = nullptr;
  stop_state* last = nullptr;
};

/// Nested destructions of shared tasks' frames, each of which holds the last handle of the next:
/// shared_task.hpp. Those too deep are deferred to the outermost.
struct shared_destructions {
  static constexpr unsigned most = 16;
  unsigned depth = 0;
  shared_end* first = nullptr;
  shared_end* last = nullptr;
};
/// How many ready awaits in a row a thread's coroutines may execute before one gives way to the others on its
/// executor.
class ready_budget {
 public:
  static constexpr unsigned most_awaits = 128;
  /// A when_all that was divided among threads is a step of a computation; many of them end in a row.
  static constexpr unsigned joins_per_await = 16;
  /// About 50 us, for a clock of 2 to 5 ticks per nanosecond.
  static constexpr std::uint64_t slice = 1u << 17;
  using clock = std::uint64_t() noexcept;

  /// Both return true if the budget is used up; the caller then renews it.
  [[nodiscard]] bool spend_await() noexcept { return --awaits_left_ == 0; }
  [[nodiscard]] bool spend_join() noexcept { return --joins_left_ == 0; }
  /// Call when the running coroutine suspends, so that others run.
  void begin() noexcept { awaits_left_ = granted_; }
  /// Grants fewer awaits if the previous ones took longer than a slice. A thread that slept in between gets
  /// too few; the number doubles with each renewal after that.
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
  clock* clock_ = nullptr;  // null: only the count matters, as under a test's scheduler
};
/// While it lives, the budget `of` a thread also depends on time.
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

inline constexpr char no_executor = 0;  // its address is no executor's

struct thread_state {
  std::coroutine_handle<> next;  ///< what the drain loop runs when the running coroutine returns to it
  bool draining = false;         ///< a drain loop is below on this stack
  unsigned wakes_left = max_wake_depth;  ///< how many more wake-ups may nest
  ready_budget budget;
  executor* current = nullptr;           ///< where the running coroutine belongs; null: nowhere
  late_resumptions late_wakes;           ///< wake-ups at the maximum depth
  fork_queue* forks = nullptr;           ///< of the static_thread_pool whose thread it is
  const void* forks_for = &no_executor;  ///< that pool's executor; never null
  const strand_state* strand = nullptr;  ///< whose run is the innermost on this stack
  void* loop_run = nullptr;              ///< io_loop's: the innermost on this stack
  nested_starts starts;
  linked_requests requests;
  shared_destructions destructions;
  unsigned stopping = 0;  ///< frames ended by a stop request that are being destroyed on this stack

  /// Both in one comparison.
  [[nodiscard]] bool has_something_left() const noexcept {
    return (address_of(next.address()) | address_of(late_wakes.first)) != 0;
  }
  /// Returns true if the running coroutine belongs to the pool whose threads steal from `forks`, which is
  /// then not null. One comparison.
  [[nodiscard]] bool may_fork() const noexcept { return current == forks_for; }
};

/// The calling thread's state. Never keep the reference across a suspension.
#if defined(CORACLE_MODEL)
thread_state& this_thread() noexcept;  // a thread of the model checker's has its own
#else
CORACLE_VISIBLE() inline constinit thread_local thread_state state_of_this_thread{};
CORACLE_ALWAYS_INLINE() thread_state& this_thread() noexcept { return state_of_this_thread; }
#endif
}  // namespace coracle::detail
