// src/exec/work_queue.hpp -- one pool thread's queue, from which the others steal.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/executor.hpp>
#include <cstdint>

#include "lone_entry.hpp"

namespace coracle::detail {
/// A bounded queue, FIFO for its owner: one lone entry, and a ring for more.
class work_queue {
 public:
  static constexpr std::uint64_t capacity = is_modelled ? 2 : 256;
  /// In a model a thief that calls twice would only multiply the executions.
  static constexpr bool is_patient = !is_modelled;

  // ---- the owner ----

  /// Returns false if full.
  bool push(resumption& item) noexcept { return push_alone(item) || push_behind(item); }
  /// Returns false if there are other entries, or if lone entries go to push_behind() for a while. If it
  /// returns true, a thief executes a heavy fence, and light ones emit no instruction.
  CORACLE_ALWAYS_INLINE() bool push_alone(resumption& item) noexcept {
    const std::uint64_t tail = tail_.load(memory_order_relaxed);                    /*Q5*/
    if (tail != head_.load(memory_order_relaxed) || !lone_.put(item)) return false; /*Q6*/
    turn_.store(turn_.load(memory_order_relaxed) + 1, memory_order_relaxed);        /*Q7*/
    return true;
  }
  bool push_behind(resumption& item) noexcept {
    const std::uint64_t tail = tail_.load(memory_order_relaxed);        /*Q5*/
    const std::uint64_t size = tail - head_.load(memory_order_acquire); /*Q3*/
    if (size >= capacity) return false;
    slots_[tail % capacity].store(&item, memory_order_relaxed); /*Q5*/
    tail_.store(tail + 1, memory_order_release);                /*Q1*/
    return true;
  }
  /// Returns the oldest entry, or null.
  CORACLE_ALWAYS_INLINE() resumption* take() noexcept {
    resumption* const item = take_alone();
    return item ? item : take_from_ring();
  }
  /// Returns the oldest entry if push_alone() has stored it; null means that the caller must call take().
  CORACLE_ALWAYS_INLINE() resumption* take_alone() noexcept { return lone_.take(); }
  /// Returns true if the last entry pushed is the only one.
  [[nodiscard]] bool has_one() const noexcept {
    const std::uint64_t in_ring = tail_.load(memory_order_relaxed) - head_.load(memory_order_relaxed); /*Q6*/
    return in_ring == 0 || (in_ring == 1 && lone_.is_shut());
  }

  // ---- any thread ----

  /// Steals one of several entries. A lone entry is left until the next call, and counted in `left`, because
  /// its owner is likely to take it first. If it is still there at the next call, lone entries evidently stay
  /// for a while: the thief then makes the owner put the following ones into the ring, where stealing needs
  /// no fence, and takes this one at the call after that.
  resumption* steal(unsigned& left) noexcept {
    const std::uint64_t tail = tail_.load(memory_order_relaxed); /*Q7*/
    const std::uint64_t head = head_.load(memory_order_relaxed); /*Q7*/
    const std::uint64_t in_ring = tail > head ? tail - head : 0;
    const bool is_lone = !lone_.is_empty();
    if (in_ring + is_lone == 0) return nullptr;
    if (is_patient && in_ring + is_lone == 1) {
      const std::uint64_t which = is_lone ? turn_.load(memory_order_relaxed) << 1 | 1 : head << 1; /*Q7*/
      if (left_.load(memory_order_relaxed) != which) {                                             /*Q7*/
        left_.store(which, memory_order_relaxed);                                                  /*Q7*/
        ++left;
        return nullptr;
      }
      if (is_lone && shut_lone_slot()) return nullptr;
    }
    return in_ring != 0 ? take_from_ring() : lone_.steal();
  }
  /// Makes the owner put lone entries into the ring for a while, from its next visit to the slot on. Returns
  /// false if it already does.
  bool shut_lone_slot() noexcept { return lone_.shut(); }
  /// Sees entries whose push a fence orders before this call.
  [[nodiscard]] bool is_empty() const noexcept {
    return lone_.is_empty() && head_.load(memory_order_relaxed) == tail_.load(memory_order_relaxed); /*Q6*/
  }
  /// A guess, for metrics.
  [[nodiscard]] std::size_t count() const noexcept {
    const std::uint64_t tail = tail_.load(memory_order_relaxed); /*Q7*/
    const std::uint64_t head = head_.load(memory_order_relaxed); /*Q7*/
    return (tail > head ? tail - head : 0) + !lone_.is_empty();
  }

 private:
  resumption* take_from_ring() noexcept {
    std::uint64_t head = head_.load(memory_order_acquire); /*Q4*/
    for (;;) {
      if (head == tail_.load(memory_order_acquire)) return nullptr;                                /*Q2*/
      resumption* const item = slots_[head % capacity].load(memory_order_relaxed);                 /*Q5*/
      if (head_.compare_exchange_weak(head, head + 1, memory_order_acq_rel, memory_order_acquire)) /*Q4*/
        return item;
    }
  }

  // An entry pushed while the ring is empty goes to lone_, unless that is in use or shut; so the entry in
  // lone_ is the oldest. Entries [head_, tail_) are in the ring; both only grow, so a taker's CAS fails if
  // another thread was faster.
  //   [Q1] tail + 1   release  publishes the slot and the entry's fields                    pairs with Q2
  //   [Q2] tail       acquire  sees the slot and these fields                               pairs with Q1
  //   [Q3] head       acquire  a slot is written again only after its taker has read it     pairs with Q4
  //   [Q4] head + 1   acq_rel  the slot was read before; acquire: a thread that finds that
  //                            another was faster sees a tail that is not behind it         pairs with Q3, Q4
  //   [Q5] the slot, and the owner's tail  relaxed  ordered by the others
  //   [Q6] both       relaxed  the caller has executed a fence, or treats it as a hint
  //   [Q7] tail, head, lone_'s use count, the entry left  relaxed  a guess: the steal decides, or it is for
  //                                                             metrics
  alignas(64) atomic<std::uint64_t> left_{~std::uint64_t{0}};
  alignas(64) atomic<std::uint64_t> head_{0};
  alignas(64) lone_entry lone_;
  atomic<std::uint64_t> turn_{0};
  atomic<std::uint64_t> tail_{0};
  atomic<resumption*> slots_[capacity] = {};
};
}  // namespace coracle::detail
