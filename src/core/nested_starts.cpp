// src/core/nested_starts.cpp -- starts of children that were put off.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/nested_starts.hpp>

namespace coracle::detail {
void put_off(nested_starts& starts, waiter& late) noexcept {
  late.next = nullptr;
  if (starts.first) {
    starts.last->next = &late;
  } else {
    starts.first = &late;
  }
  starts.last = &late;
}

void run_late_starts(nested_starts& starts) noexcept {
  while (const auto* const late = static_cast<waiter*>(starts.first)) {
    starts.first = late->next;
    const executor_scope at{late->home};
    resume(late->handle);
  }
}
}  // namespace coracle::detail
