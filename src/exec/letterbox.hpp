// src/exec/letterbox.hpp -- hands work to a searching thread without a queue.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/executor.hpp>
#include <cstdint>

namespace coracle::detail {
/// Receives one entry for the thread that has opened it, which watches this cache line. Nothing else is in
/// the line, so a hand-over costs one write and one read.
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
    return state_.compare_exchange_strong(seen, reinterpret_cast<std::uintptr_t>(&item), memory_order_release,
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
    auto* const item = reinterpret_cast<resumption*>(state_.load(memory_order_acquire)); /*K3*/
    state_.store(closed, memory_order_relaxed);                                          /*K1*/
    return item;
  }

 private:
  // closed -> opened, by a thread, which then owns the letterbox -> an entry, by any thread -> closed, by the
  // owner; or opened -> closed without an entry.
  //   [K1] to opened, to closed  relaxed  only decides the owner
  //   [K2] opened -> an entry    release  publishes its fields   pairs with K3
  //   [K3] the entry             acquire  sees them              pairs with K2
  //   [K4] a look                relaxed  a hint: K1 or K3 follows
  static constexpr std::uintptr_t closed = 0, opened = 1;
  alignas(64) atomic<std::uintptr_t> state_{closed};
};
}  // namespace coracle::detail
