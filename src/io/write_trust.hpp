// src/io/write_trust.hpp -- whether a write to a file is likely to be over at once.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <cstdint>

namespace coracle::detail {
/// Decides whether writes to files are carried out where they are awaited. The page cache takes most of them at once. Where
/// it is full, or has to read the page first, a write waits for the device, and no system call tells beforehand. So after a
/// slow write the file threads carry out those that follow, for a hundred times as long: slow writes hold a thread up for
/// 1 % of the time at most.
///
/// Threads  any number of threads.
class write_trust {
 public:
  /// In ticks of the system, some 200 us to 1 ms.
  static constexpr std::uint64_t slow = std::uint64_t{1} << 20;
  static constexpr std::uint64_t rest = 100;  ///< times as long as the slow write

  [[nodiscard]] bool may_write(std::uint64_t now) const noexcept {
    return now >= lost_until_.load(memory_order_relaxed); /*T1*/
  }
  void has_written(std::uint64_t begun, std::uint64_t ended) noexcept {
    const std::uint64_t took = ended - begun;
    if (took >= slow) lost_until_.store(ended + rest * took, memory_order_relaxed); /*T2*/
  }

 private:
  //   [T1] load   relaxed  orders nothing
  //   [T2] store  relaxed  orders nothing; of two slow writes at a time one counts
  atomic<std::uint64_t> lost_until_{0};
};
}  // namespace coracle::detail
