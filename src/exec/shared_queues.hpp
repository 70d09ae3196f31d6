// src/exec/shared_queues.hpp -- posts from outside a pool, one queue per priority.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/small_mutex.hpp>
#include <coracle/exec/static_thread_pool.hpp>

namespace coracle::detail {
/// FIFO at each priority, under one lock. Tests for emptiness do not take it.
class alignas(64) shared_queues {
  using priority = static_thread_pool::priority;

 public:
  /// Calls `then()` before any thread can take `item`, because running `item` may end the last use of the
  /// pool to which these queues belong.
  template <class Then>
  void push(resumption& item, priority at, Then then) noexcept {
    item.next = nullptr;
    queue& target = queues_[index_of(at)];
    const small_mutex_lock lock{mutex_};
    (target.head ? target.tail->next : target.head) = &item;
    target.tail = &item;
    plain<std::uint32_t>& size = lengths_[index_of(at)].size;
    if (size == 0) mark(at, true);
    size = size + 1;
    then();
  }
  /// Returns the oldest entry, or null. Passes `share(size) - 1` more entries to `put(item)`, until that
  /// returns false.
  template <class Share, class Put>
  resumption* take(priority from, Share share, Put put) noexcept {
    if (!has(from)) return nullptr;
    queue& source = queues_[index_of(from)];
    const small_mutex_lock lock{mutex_};
    plain<std::uint32_t>& left = lengths_[index_of(from)].size;
    const std::uint32_t size = left;
    if (size == 0) return nullptr;
    resumption* const first = source.head;
    source.head = first->next;
    std::uint32_t taken = 1;
    for (const std::size_t limit = share(size); taken < limit && source.head; ++taken) {
      resumption* const next = source.head->next;
      if (!put(*source.head)) break;
      source.head = next;
    }
    left = size - taken;
    if (size == taken) mark(from, false);
    return first;
  }

  [[nodiscard]] bool is_empty() const noexcept { return waiting_.load(memory_order_relaxed) == 0; } /*W1*/
  [[nodiscard]] bool has(priority which) const noexcept {
    return (waiting_.load(memory_order_relaxed) & bit_of(which)) != 0; /*W1*/
  }
  /// Returns true if there is an entry of high or normal priority.
  [[nodiscard]] bool has_urgent() const noexcept {
    const std::uint32_t urgent = bit_of(priority::high) | bit_of(priority::normal);
    return (waiting_.load(memory_order_relaxed) & urgent) != 0; /*W1*/
  }
  /// Sees the entries of every push() that has returned.
  [[nodiscard]] bool is_empty_locked() noexcept {
    const small_mutex_lock lock{mutex_};
    return is_empty();
  }
  [[nodiscard]] std::size_t length_of(priority which) noexcept {
    const small_mutex_lock lock{mutex_};
    return lengths_[index_of(which)].size;
  }

 private:
  struct queue {
    plain<resumption*> head = nullptr;
    plain<resumption*> tail = nullptr;
  };
  struct length {
    plain<std::uint32_t> size = 0;
  };
  static constexpr std::size_t index_of(priority which) noexcept { return static_cast<std::size_t>(which); }
  static constexpr std::uint32_t bit_of(priority which) noexcept { return 1u << index_of(which); }
  void mark(priority which, bool has_some) noexcept {
    const std::uint32_t seen = waiting_.load(memory_order_relaxed);                                /*W1*/
    waiting_.store(has_some ? seen | bit_of(which) : seen & ~bit_of(which), memory_order_relaxed); /*W1*/
  }

  // mutex_ guards everything below.
  //   [W1] which queues are not empty  relaxed  changed under mutex_; read as a hint, or after a heavy fence
  // Each push writes the first cache line. Each worker reads waiting_ at every turn, so it has a line of its
  // own, written only when a queue becomes empty, or is no longer empty.
  small_mutex mutex_;
  length lengths_[3];  // by priority, like queues_; apart from them, so that all fit into the line
  queue queues_[3];
  alignas(64) atomic<std::uint32_t> waiting_{0};
};
}  // namespace coracle::detail
