// coracle/core/nested_starts.hpp -- children that start children that start ... on a bounded stack.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>

namespace coracle::detail {
/// What starts a child runs it inside its own call, until the child suspends. The calls that run inside one another
/// on a thread are counted; those that come too deep are put off until the outermost is about to return.
struct nested_starts {
  static constexpr unsigned most = 16;
  unsigned depth = 0;
  resumption* first = nullptr;  ///< those put off: each a waiter that starts a child when it is resumed
  resumption* last = nullptr;

  /// Has `late` resumed on its executor by the outermost of the calls on this thread.
  void put_off(waiter& late) noexcept {
    late.next = nullptr;
    (first ? last->next : first) = &late;
    last = &late;
  }
  CORACLE_NOINLINE() void run() noexcept {
    while (const auto* const late = static_cast<waiter*>(first)) {
      first = late->next;
      const executor_scope at{late->home};
      resume(late->handle);
    }
  }
};
CORACLE_VISIBLE() inline constinit thread_local nested_starts starts_of_this_thread{};
CORACLE_THREAD_LOCAL_ACCESS() inline nested_starts& this_thread_starts() noexcept {
  return starts_of_this_thread;
}

/// While it lives the thread is inside one start more.
class nested_start {
 public:
  nested_start() noexcept : starts_(this_thread_starts()) { ++starts_.depth; }
  nested_start(const nested_start&) = delete;
  nested_start& operator=(const nested_start&) = delete;
  ~nested_start() {
    if (starts_.depth == 1 && starts_.first) [[unlikely]]
      starts_.run();
    --starts_.depth;
  }
  /// What this was to start is to be put off.
  [[nodiscard]] bool too_deep() const noexcept { return starts_.depth > nested_starts::most; }
  void put_off(waiter& late) noexcept { starts_.put_off(late); }

 private:
  nested_starts& starts_;
};

/// While it lives the calls are counted from 0 again; at its end nothing on this thread is put off any more. For a
/// thread that is about to block: what it waits for may need what was put off.
class starts_before_blocking {
 public:
  starts_before_blocking() noexcept : outer_(std::exchange(this_thread_starts().depth, 0)) {}
  starts_before_blocking(const starts_before_blocking&) = delete;
  starts_before_blocking& operator=(const starts_before_blocking&) = delete;
  ~starts_before_blocking() {
    thread_state& thread = this_thread();
    do {
      run_late_wakeups(thread);
      const nested_start outermost;
    } while (thread.late_head);
    this_thread_starts().depth = outer_;
  }

 private:
  unsigned outer_;
};
}  // namespace coracle::detail
