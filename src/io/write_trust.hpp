// src/io/write_trust.hpp -- predicts whether a write to a file will block.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <cstdint>

namespace coracle::detail {
/// Decides whether writes to files are carried out on the thread that awaits them. The page cache takes most
/// of them immediately. But if it is full, or must read the page first, a write waits for the device, and no
/// system call tells in advance. So after a slow write, the kernel or a file thread carries out further
/// writes, for a hundred times as long as the slow one took: slow writes block a thread for at most 1 % of
/// the time.
///
/// Threads  all members may be called from any thread.
class write_trust {
 public:
  /// In ticks of the system: about 200 us to 1 ms.
  static constexpr std::uint64_t slow = std::uint64_t{1} << 20;
  static constexpr std::uint64_t rest = 100;  ///< a multiple of the time that the slow write took

  [[nodiscard]] bool may_write(std::uint64_t now) const noexcept {
    return now >= lost_until_.load(memory_order_relaxed); /*T1*/
  }
  void has_written(std::uint64_t begun, std::uint64_t ended) noexcept {
    const std::uint64_t took = ended - begun;
    if (took >= slow) lost_until_.store(ended + rest * took, memory_order_relaxed); /*T2*/
  }

 private:
  //   [T1] load   relaxed  orders nothing
  //   [T2] store  relaxed  orders nothing; of two concurrent slow writes, either one counts
  atomic<std::uint64_t> lost_until_{0};
};
}  // namespace coracle::detail
