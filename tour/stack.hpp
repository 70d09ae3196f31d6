// tour/stack.hpp -- where the stack is now, and a thread with a stack of known bounds.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tour {
/// The frame address of the function that this is inlined into.
[[gnu::always_inline]] inline std::uintptr_t frame_position() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}
/// The frame address of a call made here: just below the caller's own part of the stack.
[[gnu::noinline]] std::uintptr_t position_below();

struct stack_bounds {
  std::uintptr_t lowest = 0, highest = 0;

  [[nodiscard]] bool contains(const void* place) const {
    const auto at = reinterpret_cast<std::uintptr_t>(place);
    return at >= lowest && at < highest;
  }
};
/// Of the calling thread.
stack_bounds this_stack();

/// Runs `work` on a thread of its own with a stack of `size` bytes and an inaccessible page below it, and
/// waits for its end.
void run_on_guarded_stack(std::size_t size, const std::function<void(stack_bounds)>& work);
}  // namespace tour
