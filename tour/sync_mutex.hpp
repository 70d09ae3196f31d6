// tour/sync_mutex.hpp -- coroutines on a pool that fight for one async_mutex.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

namespace tour {
struct contention {
  std::size_t coroutines = 0;
  std::size_t threads = 0;
  std::uint64_t locks = 0;
  std::uint64_t waits = 0;  ///< locks that were held by another coroutine
  std::uint64_t counted = 0;
  std::uint64_t allocations = 0;
  double nanoseconds = 0;  ///< of all
};
/// Each coroutine locks `rounds` times, and holds the lock across a hop through the pool.
contention fight_for_mutex(std::size_t coroutines, std::uint64_t rounds, std::size_t threads);

struct uncontended {
  double async_nanoseconds = 0;  ///< of one lock and unlock
  double std_nanoseconds = 0;    ///< the same, std::mutex
};
uncontended lock_alone(std::uint64_t rounds);
}  // namespace tour
