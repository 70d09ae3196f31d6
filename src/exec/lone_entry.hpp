// src/exec/lone_entry.hpp -- one entry that its owner takes back without an atomic operation.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/asymmetric_fence.hpp>
#include <coracle/base/atomic.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/executor.hpp>
#include <cstdint>

namespace coracle::detail {
/// A slot for one entry. Its owner puts the entry in and takes it back without a fence instruction; a thief
/// makes up for that with a fence on every thread (asymmetric_fence).
class lone_entry {
 public:
  /// If the system does not support such a fence, the slot stays shut.
  lone_entry() noexcept {
    if (fence_.is_free()) return;
    slot_.store(shut_turns, memory_order_relaxed); /*L5*/
    thief_.store(shuts, memory_order_relaxed);     /*L7*/
  }

  // ---- the owner ----

  /// Returns false if the slot is in use or shut.
  bool put(resumption& item) noexcept {
    if (slot_.load(memory_order_relaxed) != empty) return false; /*L5*/
    slot_.store(address_of(&item), memory_order_release);        /*L1*/
    return true;
  }
  /// Null if the slot is empty.
  CORACLE_ALWAYS_INLINE() resumption* take() noexcept {
    auto* const item = reinterpret_cast<resumption*>(slot_.load(memory_order_relaxed)); /*L5*/
    if (!item) return nullptr;
    slot_.store(empty, memory_order_relaxed); /*L5*/
    asymmetric_fence::light_where_free();
    const std::uint64_t seen = thief_.load(memory_order_relaxed); /*L3*/
    if ((seen & (state_bits | shuts)) == nobody) [[likely]]
      return item;
    return keep_from(seen, item) ? item : nullptr;
  }
  [[nodiscard]] bool is_shut() const noexcept {
    return slot_.load(memory_order_relaxed) - 1 < shut_turns; /*L5*/
  }

  // ---- any thread ----

  /// Null if the slot is empty, or another thread was faster.
  resumption* steal() noexcept {
    std::uint64_t seen = thief_.load(memory_order_relaxed);                                       /*L6*/
    if (state_of(seen) != nobody || !entry_in(slot_.load(memory_order_relaxed))) return nullptr;  /*L6*/
    if (!thief_.compare_exchange_strong(seen, seen + asks, memory_order_relaxed)) return nullptr; /*L3*/
    fence_.heavy();
    resumption* const item = entry_in(slot_.load(memory_order_acquire)); /*L2*/
    std::uint64_t asking = seen + asks;
    const std::uint64_t then = item ? seen + has_it : seen + next_turn;
    return thief_.compare_exchange_strong(asking, then, memory_order_relaxed) ? item : nullptr; /*L4*/
  }
  /// Shuts the slot: from the owner's next visit on, and for `shut_turns` visits, nothing is put in. Returns
  /// false if a thread has already requested that, or the entry.
  bool shut() noexcept {
    std::uint64_t seen = thief_.load(memory_order_relaxed); /*L6*/
    return (seen & (state_bits | shuts)) == nobody &&
           thief_.compare_exchange_strong(seen, seen + shuts, memory_order_relaxed); /*L7*/
  }
  /// Sees every entry that was put in before a light fence that precedes the caller's heavy fence.
  [[nodiscard]] bool is_empty() const noexcept {
    return !entry_in(slot_.load(memory_order_relaxed)) ||
           state_of(thief_.load(memory_order_relaxed)) == has_it; /*L6*/
  }

 private:
  // Two bits of thief_ tell whether a thief asks for the entry or has it, the next bit whether the slot must
  // be shut; the rest is a change count, so that no thief mistakes another's state for its own. Only the
  // owner writes slot_: a stolen entry stays there until the owner's next visit. While the slot is shut,
  // slot_ holds the number of visits left and the bit stays set, so the owner's hot path tests for neither.
  // The fences guarantee that the owner, which empties slot_, or the thief, which has asked before, sees the
  // other; if both do, thief_ decides.
  //   [L1] the entry               release  publishes its fields               pairs with L2
  //   [L2] the entry               acquire  sees these fields                  pairs with L1
  //   [L3] nobody -> asks          relaxed  a heavy fence follows; the owner reads after a light one
  //   [L4] asks -> has it, nobody  relaxed  only decides which thread gets the entry
  //   [L5] the owner's accesses    relaxed  ordered by the others
  //   [L6] load                    relaxed  a hint: L3 follows, or the caller's fence was before it
  //   [L7] shuts, reopens          relaxed  only the owner acts on it, in slot_
  static constexpr std::uint64_t nobody = 0, asks = 1, has_it = 2, state_bits = 3, shuts = 4, next_turn = 8;
  static constexpr std::uintptr_t empty = 0, shut_turns = is_modelled ? 1 : 64;
  static constexpr std::uint64_t state_of(std::uint64_t seen) noexcept { return seen & state_bits; }
  static resumption* entry_in(std::uintptr_t slot) noexcept {
    return tagged_pointer<resumption, no_tag>::from_bits(slot).pointer_above(shut_turns);
  }

  /// The slow path of take(): a thief asks for the entry that the owner has just taken out, or has it, or the
  /// slot is or must be shut. Returns true if there is an entry and the owner keeps it.
  CORACLE_SAVES_REGISTERS() bool keep_from(std::uint64_t thief, const resumption* taken) noexcept {
    const std::uintptr_t slot = address_of(taken);
    const bool has_entry = slot > shut_turns;
    const bool mine = has_entry && is_still_mine(thief);
    if ((thief & shuts) != 0) {
      const std::uintptr_t turns = has_entry || !fence_.is_free() ? shut_turns : slot - 1;
      turns != 0 ? slot_.store(turns, memory_order_relaxed) : open(thief); /*L5*/
    }
    return mine;
  }
  /// Reopens the slot: a thief that asks from now on is too late for the previous entry.
  void open(std::uint64_t seen) noexcept {
    std::uint64_t then;
    do {
      then = seen - shuts - state_of(seen) + (state_of(seen) == nobody ? 0 : next_turn);
    } while (!thief_.compare_exchange_weak(seen, then, memory_order_relaxed)); /*L7*/
  }
  /// Returns true if no thief has taken the entry. Stores the latest value of thief_ in `seen`.
  bool is_still_mine(std::uint64_t& seen) noexcept {
    while (state_of(seen) == asks) {
      const std::uint64_t then = seen - asks + next_turn;
      if (thief_.compare_exchange_weak(seen, then, memory_order_relaxed)) return true; /*L4*/
    }
    if (state_of(seen) == nobody) return true;
    thief_.store(seen - has_it + next_turn, memory_order_relaxed); /*L4*/
    return false;
  }

  const asymmetric_fence fence_;
  atomic<std::uintptr_t> slot_{empty};
  atomic<std::uint64_t> thief_{nobody};
};
}  // namespace coracle::detail
