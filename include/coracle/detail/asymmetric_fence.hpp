// coracle/detail/asymmetric_fence.hpp -- a pair of fences of which the frequent one costs nothing.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/detail/atomic.hpp>

namespace coracle::detail {
/// Two threads that each write one word, pass a fence and read the other's: at least one sees what the other wrote,
/// where one fence is light and the other heavy. The light one keeps the compiler from reordering; the heavy one has
/// the system run a full fence on every thread of this process. Where the system cannot, both are full fences.
/// Source: membarrier(2); D. Dice, M. Moir, W. Scherer, "Quickly reacquirable locks", 2003.
class asymmetric_fence {
 public:
#if defined(CORACLE_MODEL)
  asymmetric_fence() noexcept {}
  void light() const {}
  void heavy() const { testing::model::model_fence_everywhere(testing::model::site::current()); }
#else
  asymmetric_fence() noexcept;
  void light() const noexcept {
    if (system_has_it_) [[likely]] {
      std::atomic_signal_fence(memory_order_seq_cst);
    } else {
      std::atomic_thread_fence(memory_order_seq_cst);
    }
  }
  void heavy() const noexcept;

 private:
  const bool system_has_it_;
#endif
};
}  // namespace coracle::detail
