// SPDX-License-Identifier: MIT
// Finds coroutines that wait for a lock that is never released, by looking at which frames have its address.
#pragma once
#include <vector>

#include "../coroutine_search.hpp"

namespace coracle::detail {
struct endless_lock_waits {
  std::vector<coroutine_search::coroutines> deadlocks;  ///< each waits for a lock that the next one has
  coroutine_search::coroutines stuck;                   ///< also those in `deadlocks`
};

/// A wait is endless if every coroutine whose frame has the lock's address waits for such a lock itself, or
/// awaits one that does. If only one of them can go on, the wait is not reported, nor if a timeout() or
/// another branch of a when_any() ends it in time.
[[nodiscard]] endless_lock_waits find_endless_lock_waits(const coroutine_search& in);
}  // namespace coracle::detail
