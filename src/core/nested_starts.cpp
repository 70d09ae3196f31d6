// src/core/nested_starts.cpp -- starts of children that were put off.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/nested_starts.hpp>

namespace coracle::detail {
void run_late_starts(nested_starts& starts) noexcept {
  while (const auto* const late = static_cast<waiter*>(starts.late.first)) {
    starts.late.first = late->next;
    const executor_scope at{late->home};
    resume(late->handle);
  }
}
}  // namespace coracle::detail
