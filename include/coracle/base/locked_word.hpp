// coracle/base/locked_word.hpp -- a word of state, one bit of which is a lock.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <coracle/base/park.hpp>
#include <cstdint>

namespace coracle::detail {
/// The state that a primitive changes in one atomic operation, and a lock for what takes more: its wait
/// queue. Bit 0 is the lock; the other bits belong to the primitive. While the lock is held only the holder
/// changes the word. So releasing it is a plain store, and the holder's last access to the primitive, which
/// may be destroyed as soon as another thread sees that store. The lock is held for a few instructions (in a
/// paired_ring also for a system-wide fence), never across user code, a wake-up or a blocking system call.
//
//   [B1] free -> locked       acquire  sees what the last holder wrote                pairs with B2
//   [B2] locked -> free       release  publishes what this holder wrote               pairs with B1, B3
//   [B3] either -> locked     acquire  as B1, or the lock is still held by another thread    pairs with B2
// The orders of change() are in the primitive's own tables. It fails while the lock is held.
template <class Value>
class locked_word {
 public:
  static constexpr Value lock_bit = 1;

  /// Requires: bit 0 of `initial` is not set.
  explicit locked_word(Value initial) noexcept : word_(initial) {}
  locked_word(const locked_word&) = delete;
  locked_word& operator=(const locked_word&) = delete;

  /// Returns the word, which may be locked.
  [[nodiscard]] Value load(order_argument order) const noexcept { return word_.load(order); }
  /// Changes `expected`, a value without the lock bit, to `desired`, like compare_exchange_weak.
  bool change(Value& expected, Value desired, order_argument order) noexcept {
    return word_.compare_exchange_weak(expected, desired, order, memory_order_relaxed);
  }
  /// As change(), but fails only if it finds another value.
  [[nodiscard]] bool change_from(Value expected, Value desired, order_argument order) noexcept {
    return word_.compare_exchange_strong(expected, desired, order, memory_order_relaxed);
  }
  /// Clears `bit`, which must not be set while the lock is held. Returns true if it was set.
  bool clear(Value bit, order_argument order) noexcept { return (word_.fetch_and(~bit, order) & bit) != 0; }
  /// Takes the lock. Returns the value found. `order`: acquire or stronger.
  [[nodiscard]] Value lock(order_argument order = memory_order_acquire /*B1*/) noexcept {
    Value seen = word_.load(memory_order_relaxed) & ~lock_bit;
    if (word_.compare_exchange_strong(seen, seen | lock_bit, order, /*B1*/
                                      memory_order_relaxed)) [[likely]] {
      return seen;
    }
    return lock_contended(order);
  }
  /// As lock(), unless the value is 0: then it does not take the lock and returns 0.
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
  /// Releases the lock and stores `value`.
  void unlock(Value value) noexcept { word_.store(value, memory_order_release); } /*B2*/
  /// Waits until the word is not locked, then returns it.
  [[nodiscard]] Value load_unlocked(order_argument order) const noexcept {
    const Value seen = word_.load(order);
    return (seen & lock_bit) == 0 ? seen : load_contended(order);
  }

 protected:
  /// As lock(), but erases the value from the word. The result has the lock bit if another thread holds the
  /// lock.
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
  /// Pauses leave the cache line to the holder: with a single pause a channel is three times slower.
  static void wait_for_holder(unsigned& pauses) noexcept {
    constexpr unsigned together = is_modelled ? 1 : 8;
    for (const unsigned end = pauses + together; pauses != end; ++pauses) wait_a_moment(pauses);
  }

  atomic<Value> word_;
};

/// A locked_word whose value nobody reads while it is locked. So a single exchange takes the lock, without a
/// load before it.
template <class Value>
class exchanged_word : public locked_word<Value> {
 public:
  using locked_word<Value>::locked_word;

  [[nodiscard]] Value lock() noexcept { return end_lock(begin_lock()); }
  /// lock() in two steps. If the result of begin_lock() lacks the lock bit, it is the value and the lock is
  /// held; so a caller that finds the likely value needs no second step.
  [[nodiscard]] Value begin_lock() noexcept { return this->lock_by_exchange(); }
  [[nodiscard]] Value end_lock(Value begun) noexcept {
    return (begun & this->lock_bit) == 0 ? begun : this->lock_contended(memory_order_acquire) /*B1*/;
  }
  /// Replaces `from`, the likely value, with `to`. Returns false if the value was another.
  bool replace(Value from, Value to) noexcept {
    const Value seen = begin_lock();
    if (seen != from) [[unlikely]]
      return replace_later(seen, from, to);
    this->unlock(to);
    return true;
  }

 private:
  CORACLE_SAVES_REGISTERS() bool replace_later(Value begun, Value from, Value to) noexcept {
    const Value seen = end_lock(begun);
    this->unlock(seen == from ? to : seen);
    return seen == from;
  }
};
}  // namespace coracle::detail
