// src/exec/work_queue.hpp -- one pool thread's queue, from which the others may take.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/detail/atomic.hpp>
#include <cstddef>
#include <cstdint>

namespace coracle::detail {
/// A bounded first-in first-out ring: one owner pushes, anybody takes.
class work_queue {
 public:
  static constexpr std::uint64_t capacity = is_modelled ? 2 : 256;

  /// False: full. Only the owner calls it.
  bool push(resumption& item) noexcept {
    const std::uint64_t tail = tail_.load(memory_order_relaxed);           /*Q5*/
    if (tail - head_.load(memory_order_acquire) >= capacity) return false; /*Q3*/
    slots_[tail % capacity].store(&item, memory_order_relaxed);            /*Q5*/
    tail_.store(tail + 1, memory_order_release);                           /*Q1*/
    return true;
  }
  /// The oldest; null if there is none.
  resumption* take() noexcept {
    std::uint64_t head = head_.load(memory_order_acquire); /*Q4*/
    for (;;) {
      if (head == tail_.load(memory_order_acquire)) return nullptr;                                /*Q2*/
      resumption* const item = slots_[head % capacity].load(memory_order_relaxed);                 /*Q5*/
      if (head_.compare_exchange_weak(head, head + 1, memory_order_acq_rel, memory_order_acquire)) /*Q4*/
        return item;
    }
  }
  /// Of what was pushed before a fence that orders it before this.
  [[nodiscard]] bool is_empty() const noexcept {
    return head_.load(memory_order_relaxed) == tail_.load(memory_order_relaxed); /*Q6*/
  }

 private:
  // Entries [head_, tail_) are in the ring; both only grow, so a taker's CAS fails if anybody was faster.
  //   [Q1] tail + 1     release  publish the slot and the entry's fields           pairs with Q2
  //   [Q2] tail         acquire  see them                                          pairs with Q1
  //   [Q3] head         acquire  a slot is written again only after its taker has read it   pairs with Q4
  //   [Q4] head + 1     acq_rel  the slot was read before; acquire: who finds that somebody was faster sees a tail
  //                              that is not behind it                              pairs with Q3, Q4
  //   [Q5] the slot, and the owner's tail  relaxed  ordered by the others
  //   [Q6] both         relaxed  the caller has passed a fence
  atomic<std::uint64_t> head_{0};
  alignas(64) atomic<std::uint64_t> tail_{0};
  atomic<resumption*> slots_[capacity] = {};
};
}  // namespace coracle::detail
