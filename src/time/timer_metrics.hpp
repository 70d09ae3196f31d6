// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/small_mutex.hpp>
#include <coracle/inspect/runtime_metrics.hpp>
#include <coracle/time/detail/timer_queue.hpp>

namespace coracle::detail {
/// Counts the timers of a queue that the lock guards. Takes the lock for one slot of the wheel at a time, so
/// that it delays nobody for long; timers that move meanwhile may be counted twice, or not at all.
[[nodiscard]] timer_metrics metrics_of(const timer_queue& timers, small_mutex& lock,
                                       timer_service::time_point now) noexcept;
}  // namespace coracle::detail
