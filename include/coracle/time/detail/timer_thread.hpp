// coracle/time/detail/timer_thread.hpp -- timers for coroutines whose executor has none.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/timer_service.hpp>

namespace coracle::detail {
/// The program's timer_service. Its thread starts with the first timer and ends with the program; if it
/// cannot be started, the program ends with a message.
[[nodiscard]] timer_service& program_timers() noexcept;

/// The timers of an executor; null stands for no executor.
[[nodiscard]] inline timer_service& timers_of(executor* place) noexcept {
  timer_service* const own = place ? place->timers() : nullptr;
  return own ? *own : program_timers();
}
}  // namespace coracle::detail
