// coracle/core/detail/nested_starts.hpp -- nested starts of children on a bounded stack.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/executor.hpp>

namespace coracle::detail {
// The code that starts a child runs it inside its own call, until the child suspends. Such calls nested on
// one thread are counted; those nested too deep are put off until the outermost is about to return.

CORACLE_NOINLINE() void run_late_starts(nested_starts& starts) noexcept;

/// While it exists, the thread is one start deeper.
class nested_start {
 public:
  nested_start() noexcept : starts_(this_thread().starts) { ++starts_.depth; }
  nested_start(const nested_start&) = delete;
  nested_start& operator=(const nested_start&) = delete;
  ~nested_start() {
    if (starts_.depth == 1 && starts_.late.first) [[unlikely]]
      run_late_starts(starts_);
    --starts_.depth;
  }
  /// Returns true if the start must be put off.
  [[nodiscard]] bool too_deep() const noexcept { return starts_.depth > nested_starts::most; }
  /// Has the outermost of the calls on this thread resume `late` on its executor.
  void put_off(waiter& late) noexcept { detail::put_off(starts_.late, late); }

 private:
  nested_starts& starts_;
};

/// While it exists, the calls are counted from 0 again; its destructor leaves nothing put off on this thread.
/// For a thread that is about to block, since what it waits for may need the starts that were put off.
class starts_before_blocking {
 public:
  starts_before_blocking() noexcept : outer_(detail::exchange(this_thread().starts.depth, 0u)) {}
  starts_before_blocking(const starts_before_blocking&) = delete;
  starts_before_blocking& operator=(const starts_before_blocking&) = delete;
  ~starts_before_blocking() {
    thread_state& thread = this_thread();
    do {
      run_late_wakeups(thread);
      const nested_start outermost;
    } while (thread.late_wakes.first);
    thread.starts.depth = outer_;
  }

 private:
  unsigned outer_;
};
}  // namespace coracle::detail
