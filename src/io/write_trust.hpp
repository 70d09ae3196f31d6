// src/io/write_trust.hpp -- predicts whether a write to a file will block.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <coracle/base/atomic.hpp>
#include <cstdint>

namespace coracle::detail {
/// Decides whether writes to files are carried out on the thread that awaits them. The page cache takes most
/// of them immediately. But if it is full, or must read the page first, a write waits for the device, and no
/// system call tells in advance. So after a slow write, the kernel or a file thread carries out further
/// writes for some time: as long as the slow one took, because it may only have been preempted; four times
/// as long as before if the next attempt is slow again, up to a hundred times. So a slow device blocks a
/// thread for at most 1 % of the time in the long run.
///
/// Threads  all members may be called from any thread.
class write_trust {
 public:
  /// In ticks of the system: about 200 us to 1 ms.
  static constexpr std::uint64_t slow = std::uint64_t{1} << 20;
  /// The longest rest, as a multiple of the time that the slow write took. A write that is slow within this
  /// time after a rest is the next in a series.
  static constexpr std::uint64_t longest_rest = 100;

  [[nodiscard]] bool may_write(std::uint64_t now) const noexcept {
    return now >= rests_until_.load(memory_order_relaxed); /*T1*/
  }
  void has_written(std::uint64_t begun, std::uint64_t ended) noexcept {
    const std::uint64_t took = ended - begun;
    if (took < slow) return;
    std::uint64_t rest = 1;
    if (begun < series_until_.load(memory_order_relaxed))                            /*T2*/
      rest = std::min(4 * rest_.load(memory_order_relaxed), longest_rest);           /*T2*/
    rest_.store(rest, memory_order_relaxed);                                         /*T3*/
    rests_until_.store(ended + rest * took, memory_order_relaxed);                   /*T3*/
    series_until_.store(ended + (rest + longest_rest) * took, memory_order_relaxed); /*T3*/
  }

 private:
  //   [T1] load   relaxed  orders nothing
  //   [T2] load   relaxed  orders nothing
  //   [T3] store  relaxed  orders nothing; of two concurrent slow writes, either one counts, or a part of
  //                        each
  atomic<std::uint64_t> rests_until_{0}, series_until_{0}, rest_{1};
};
}  // namespace coracle::detail
