// src/exec/work_queue.hpp -- one pool thread's queue, from which the others may take.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/executor.hpp>
#include <cstdint>

#include "lone_entry.hpp"

namespace coracle::detail {
/// A bounded queue, first in first out for its owner: one entry of its own, and a ring behind it for more.
class work_queue {
 public:
  static constexpr std::uint64_t capacity = is_modelled ? 2 : 256;
  /// In a model a thief that comes twice would only multiply the executions.
  static constexpr bool is_patient = !is_modelled;

  // ---- the owner ----

  /// Returns false if full.
  bool push(resumption& item) noexcept { return push_alone(item) || push_behind(item); }
  /// False: there are others, or what is alone goes to push_behind() for a while. True: who steals it passes a heavy fence,
  /// and light ones take no instruction.
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
  /// The oldest; null if there is none.
  resumption* take() noexcept {
    resumption* const item = take_alone();
    return item ? item : take_from_ring();
  }
  /// The oldest, if it was put in by push_alone(); null: take() is to be asked.
  CORACLE_ALWAYS_INLINE() resumption* take_alone() noexcept { return lone_.take(); }
  /// What was pushed last is alone.
  [[nodiscard]] bool has_one() const noexcept {
    const std::uint64_t in_ring = tail_.load(memory_order_relaxed) - head_.load(memory_order_relaxed); /*Q6*/
    return in_ring == 0 || (in_ring == 1 && lone_.is_shut());
  }

  // ---- everybody ----

  /// One of several; but an entry that is alone is left until the next call: its owner is likely to come to it before it
  /// could be fetched. Then it adds one to `left`. One that is still there shows that what is alone stays for a while: then
  /// it has the next ones put where taking them costs no fence, and takes this one at the call after that.
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
      if (is_lone && share_what_is_alone()) return nullptr;
    }
    return in_ring != 0 ? take_from_ring() : lone_.steal();
  }
  /// From when the owner next comes to its only entry, it puts some of those that are alone into the ring. False: it does
  /// already.
  bool share_what_is_alone() noexcept { return lone_.shut(); }
  /// Of what was pushed before a fence that orders it before this.
  [[nodiscard]] bool is_empty() const noexcept {
    return lone_.is_empty() && head_.load(memory_order_relaxed) == tail_.load(memory_order_relaxed); /*Q6*/
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

  // What is pushed while the ring is empty goes to lone_, unless that is in use or shut: so that is the oldest. Entries
  // [head_, tail_) are in the ring; both only grow, so a taker's CAS fails if anybody was faster.
  //   [Q1] tail + 1     release  publish the slot and the entry's fields           pairs with Q2
  //   [Q2] tail         acquire  see them                                          pairs with Q1
  //   [Q3] head         acquire  a slot is written again only after its taker has read it   pairs with Q4
  //   [Q4] head + 1     acq_rel  the slot was read before; acquire: who finds that somebody was faster sees a tail
  //                              that is not behind it                              pairs with Q3, Q4
  //   [Q5] the slot, and the owner's tail  relaxed  ordered by the others
  //   [Q6] both         relaxed  the caller has passed a fence, or takes it as a hint
  //   [Q7] tail, head, how often lone_ was used, and which entry was left  relaxed  a guess: what takes it decides
  alignas(64) atomic<std::uint64_t> left_{~std::uint64_t{0}};
  alignas(64) atomic<std::uint64_t> head_{0};
  alignas(64) lone_entry lone_;
  atomic<std::uint64_t> turn_{0};
  atomic<std::uint64_t> tail_{0};
  atomic<resumption*> slots_[capacity] = {};
};
}  // namespace coracle::detail
