// src/exec/letterbox.hpp -- hands work to a searching thread without a queue.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/executor.hpp>
#include <cstdint>

namespace coracle::detail {
/// Receives one entry for the thread that has opened it, which polls this cache line. Nothing else is in the
/// line, so passing an entry costs one write and one read.
class letterbox {
 public:
  /// Returns true if the caller now owns the letterbox and must close it, false if another thread owns it.
  bool open() noexcept {
    std::uintptr_t seen = closed;
    return state_.compare_exchange_strong(seen, opened, memory_order_relaxed, memory_order_relaxed); /*K1*/
  }
  /// Returns false if no thread waits for an entry. Otherwise that thread gets `item`, and this letterbox may
  /// already be destroyed.
  bool put(resumption& item) noexcept {
    std::uintptr_t seen = opened;
    return state_.compare_exchange_strong(seen, address_of(&item), memory_order_release,
                                          memory_order_relaxed); /*K2*/
  }
  /// For the owner.
  [[nodiscard]] bool is_empty() const noexcept { return state_.load(memory_order_relaxed) == opened; /*K4*/ }
  /// For the owner: returns the entry, or null.
  resumption* close() noexcept {
    std::uintptr_t seen = opened;
    if (is_empty() &&
        state_.compare_exchange_strong(seen, closed, memory_order_relaxed, memory_order_relaxed)) { /*K1*/
      return nullptr;
    }
    const auto received = entry_or_state::from_bits(state_.load(memory_order_acquire)); /*K3*/
    state_.store(closed, memory_order_relaxed);                                         /*K1*/
    return received.pointer();
  }

 private:
  using entry_or_state = tagged_pointer<resumption, no_tag>;

  // A thread opens the letterbox (closed -> opened) and then owns it; any thread puts an entry in (opened ->
  // an entry); the owner closes it, with an entry or without.
  //   [K1] to opened, to closed  relaxed  only decides the owner
  //   [K2] opened -> an entry    release  publishes the entry's fields  pairs with K3
  //   [K3] the entry             acquire  sees these fields             pairs with K2
  //   [K4] load                  relaxed  a hint: K1 or K3 follows
  static constexpr std::uintptr_t closed = 0, opened = 1;
  alignas(64) atomic<std::uintptr_t> state_{closed};
};
}  // namespace coracle::detail
