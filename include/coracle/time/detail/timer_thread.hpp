// coracle/time/detail/timer_thread.hpp -- the timers of coroutines whose executor has none.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/timer_service.hpp>

namespace coracle::detail {
/// The program's timer_service. A thread of its own starts with the first timer, and ends when the program
/// does; the program ends with a message where it cannot be started.
[[nodiscard]] timer_service& program_timers() noexcept;

/// The timers of an executor; null: of what runs outside any.
[[nodiscard]] inline timer_service& timers_of(executor* place) noexcept {
  timer_service* const own = place ? place->timers() : nullptr;
  return own ? *own : program_timers();
}
}  // namespace coracle::detail
