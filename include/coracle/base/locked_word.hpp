// coracle/base/locked_word.hpp -- a word of state, one bit of which is a lock.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <coracle/base/park.hpp>
#include <cstdint>

namespace coracle::detail {
/// What a primitive decides upon in one atomic operation, and the lock for what it cannot: its wait queue. Bit 0
/// is the lock, the rest is the primitive's. While the lock is held nobody changes the word but the holder, so
/// releasing it is a plain store, and the last thing that the holder does to the primitive, which may be gone
/// as soon as that is seen. It is held for a few instructions (a paired_ring: and a fence of the system's): never over
/// user code, a wake-up or a system call that waits.
//
//   [B1] free -> locked       acquire  sees what the last holder wrote                pairs with B2
//   [B2] locked -> free       release  publishes what this holder wrote               pairs with B1, B3
//   [B3] either -> locked     acquire  as B1, or somebody else holds the lock as before   pairs with B2
// What change() needs is the primitive's to say, in rows of its own. It fails while the lock is held.
template <class Value>
class locked_word {
 public:
  static constexpr Value lock_bit = 1;

  /// Requires: bit 0 of `initial` is not set.
  explicit locked_word(Value initial) noexcept : word_(initial) {}
  locked_word(const locked_word&) = delete;
  locked_word& operator=(const locked_word&) = delete;

  /// The word as it is, perhaps locked.
  [[nodiscard]] Value load(order_argument order) const noexcept { return word_.load(order); }
  /// From `expected`, a value without the lock bit, to `desired`, as std::atomic's.
  bool change(Value& expected, Value desired, order_argument order) noexcept {
    return word_.compare_exchange_weak(expected, desired, order, memory_order_relaxed);
  }
  /// As change(), but fails only where it finds another value.
  [[nodiscard]] bool change_from(Value expected, Value desired, order_argument order) noexcept {
    return word_.compare_exchange_strong(expected, desired, order, memory_order_relaxed);
  }
  /// Takes the lock. Gives the value that it found. `order`: acquire or stronger.
  [[nodiscard]] Value lock(order_argument order = memory_order_acquire /*B1*/) noexcept {
    Value seen = word_.load(memory_order_relaxed) & ~lock_bit;
    if (word_.compare_exchange_strong(seen, seen | lock_bit, order, /*B1*/
                                      memory_order_relaxed)) [[likely]] {
      return seen;
    }
    return lock_contended(order);
  }
  /// As lock(), unless the value is 0: then it takes nothing, and gives 0.
  [[nodiscard]] Value lock_unless_zero() noexcept {
    for (unsigned pauses = 0;; wait_for_holder(pauses)) {
      Value seen = word_.load(memory_order_relaxed);
      if (seen == 0) return 0;
      if ((seen & lock_bit) == 0 &&
          word_.compare_exchange_weak(seen, seen | lock_bit, memory_order_acquire, /*B1*/
                                      memory_order_relaxed)) {
        return seen;
      }
    }
  }
  /// Releases it, and leaves `value`.
  void unlock(Value value) noexcept { word_.store(value, memory_order_release); } /*B2*/
  /// The word once it is not locked.
  [[nodiscard]] Value load_unlocked(order_argument order) const noexcept {
    const Value seen = word_.load(order);
    return (seen & lock_bit) == 0 ? seen : load_contended(order);
  }

 protected:
  /// As lock(), but leaves nothing of the value in the word. Gives the lock bit, too, where somebody else holds the lock.
  [[nodiscard]] Value lock_by_exchange() noexcept {
    return word_.exchange(lock_bit, memory_order_acquire); /*B3*/
  }
  CORACLE_SAVES_REGISTERS() Value lock_contended(order_argument order) noexcept {
    for (unsigned pauses = 0;; wait_for_holder(pauses)) {
      Value seen = word_.load(memory_order_relaxed);
      if ((seen & lock_bit) == 0 && word_.compare_exchange_weak(seen, seen | lock_bit, order, /*B1*/
                                                                memory_order_relaxed)) {
        return seen;
      }
    }
  }

 private:
  CORACLE_SAVES_REGISTERS() Value load_contended(order_argument order) const noexcept {
    for (unsigned pauses = 0;; wait_for_holder(pauses)) {
      const Value seen = word_.load(order);
      if ((seen & lock_bit) == 0) return seen;
    }
  }
  /// Meanwhile the holder has the cache line to itself: with one pause a channel is three times slower.
  static void wait_for_holder(unsigned& pauses) noexcept {
    constexpr unsigned together = is_modelled ? 1 : 8;
    for (const unsigned end = pauses + together; pauses != end; ++pauses) wait_a_moment(pauses);
  }

  atomic<Value> word_;
};

/// One whose value nobody reads while it is locked. So an exchange takes the lock, and need not look at the word before.
template <class Value>
class exchanged_word : public locked_word<Value> {
 public:
  using locked_word<Value>::locked_word;

  [[nodiscard]] Value lock() noexcept { return end_lock(begin_lock()); }
  /// The same in two steps. What the first one gives is the value, and the lock is held, unless it has the lock bit: so who
  /// finds the value that is likely needs no second step.
  [[nodiscard]] Value begin_lock() noexcept { return this->lock_by_exchange(); }
  [[nodiscard]] Value end_lock(Value begun) noexcept {
    return (begun & this->lock_bit) == 0 ? begun : this->lock_contended(memory_order_acquire) /*B1*/;
  }
  /// Leaves `next` in place of a value that `is_right`, as none is that has the lock bit. False: it is another.
  template <class Predicate>
  bool change_if(Predicate is_right, Value next) noexcept {
    const Value seen = begin_lock();
    if (!is_right(seen)) [[unlikely]]
      return change_later(seen, is_right, next);
    this->unlock(next);
    return true;
  }

 private:
  template <class Predicate>
  CORACLE_SAVES_REGISTERS()
  bool change_later(Value begun, Predicate is_right, Value next) noexcept {
    const Value seen = end_lock(begun);
    const bool changes = is_right(seen);
    this->unlock(changes ? next : seen);
    return changes;
  }
};
}  // namespace coracle::detail
