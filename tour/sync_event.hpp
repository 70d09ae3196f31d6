// tour/sync_event.hpp -- many coroutines wait for one event; another thread sets it.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace tour {
struct wake_up {
  std::uint64_t waiters = 0;
  std::uint64_t woken = 0;
  std::uint64_t on_main = 0;    ///< went on on the main thread
  std::uint64_t on_setter = 0;  ///< went on inside set(), on the thread that called it
  std::uint64_t allocations = 0;
  double set_nanoseconds = 0;  ///< of the one call
};
/// The waiters belong to a run_loop on the calling thread.
wake_up release_on_a_loop(std::uint64_t waiters);
/// The waiters belong nowhere.
wake_up release_outside_schedulers(std::uint64_t waiters);
}  // namespace tour
