// coracle/sync/detail/event_state.hpp -- the common state of the events: set or not, and the waiters.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/waited_word.hpp>
#include <cstdint>

namespace coracle::detail {
/// The word of an event. `waited_for` is a mark or the address of the only waiter; `Word` is wide enough for
/// it.
//
// not_set and is_set_now: set() has no waiter to wake, and setting and resetting take no lock. Anything else:
// there are waiters. That changes only under the lock; while the lock is held the word holds nothing else.
//   [E1] load             acquire  sees what the setter wrote            pairs with B2, E2
//   [E2] free -> set      release  publishes what the setter wrote       pairs with E1, E3 and B3
//   [E3] set -> not_set   acquire  sees what the setter wrote            pairs with B2, E2
//   [E4] load             relaxed  no concurrent use
//   [E5] load             relaxed  a hint before E2 or E3
template <class Word>
class event_word : public exchanged_word<Word> {
 public:
  static constexpr Word not_set = 0, is_set_now = 2;

  explicit event_word(bool set) noexcept : exchanged_word<Word>(set ? is_set_now : not_set) {}

  [[nodiscard]] bool is_set() const noexcept {
    return this->load_unlocked(memory_order_acquire) == is_set_now; /*E1*/
  }
  /// Sets the event if no coroutine waits, and returns whether it did. Changes the word even if it is
  /// set already: whoever resets it then sees what this setter wrote.
  bool set_unless_waited_for() noexcept {
    Word seen = this->load(memory_order_relaxed); /*E5*/
    while (is_free(seen)) {
      if (this->change(seen, is_set_now, memory_order_release)) return true; /*E2*/
    }
    return false;
  }
  /// Returns true if it was set.
  bool reset() noexcept {
    do {
      if (this->clear(is_set_now, memory_order_acquire)) return true; /*E3*/
    } while (this->load_unlocked(memory_order_relaxed) == is_set_now); /*E5*/
    return false;
  }
  bool reset_if_set() noexcept {
    return this->load_unlocked(memory_order_relaxed) == is_set_now && reset(); /*E5*/
  }

 private:
  static bool is_free(Word seen) noexcept { return seen == not_set || seen == is_set_now; }
};

/// An event for any number of waiters.
class event_state {
 public:
  explicit event_state(bool set) noexcept : word_(set) {}

  [[nodiscard]] bool is_set() const noexcept { return word_.is_set(); }
  /// Requires: nobody uses it meanwhile.
  [[nodiscard]] bool is_waited_for() const noexcept { return word_.is_waited_for(); }
  bool reset() noexcept { return word_.reset(); }
  bool reset_if_set() noexcept { return word_.reset_if_set(); }

  // The next three touch nothing of the event once its being set is visible or a waiter is woken.

  /// Sets the event and returns true if no coroutine waits; otherwise changes nothing.
  bool set_unless_waited_for() noexcept { return word_.set_unless_waited_for(); }
  /// Sets the event and wakes every waiter.
  CORACLE_NOINLINE() void set_for_all() noexcept;
  /// Wakes the first waiter, which consumes the set(); without a waiter the event becomes set.
  CORACLE_NOINLINE() void set_for_one() noexcept;

  /// Returns true if `arriving` waits. Returns false if stop was requested or the event was set; an
  /// `auto_reset` event is then reset.
  bool enqueue(queued_waiter& arriving, bool auto_reset) noexcept {
    const std::uintptr_t seen = word_.begin_lock();
    return seen == word_.not_set ? word_.wait(arriving, word_.not_set, word_.not_set)
                                 : enqueue_after_others(arriving, seen, auto_reset);
  }
  bool withdraw(queued_waiter& waiting) noexcept;

 private:
  CORACLE_NOINLINE() void set_for_several() noexcept;
  CORACLE_NOINLINE() void set_for_first() noexcept;
  CORACLE_NOINLINE()
  bool enqueue_after_others(queued_waiter& arriving, std::uintptr_t begun, bool auto_reset) noexcept;

  waited_word<event_word<std::uintptr_t>> word_;
};

/// An event for one waiter, whose address the word then holds.
class single_waiter_event_state {
 public:
  explicit single_waiter_event_state(bool set) noexcept : word_(set) {}

  [[nodiscard]] bool is_set() const noexcept { return word_.is_set(); }
  /// Requires: nobody uses it meanwhile.
  [[nodiscard]] bool is_waited_for() const noexcept {
    return word_.load(memory_order_relaxed) > word_.is_set_now; /*E4*/
  }
  bool reset() noexcept { return word_.reset(); }
  bool reset_if_set() noexcept { return word_.reset_if_set(); }
  /// As event_state's.
  bool set_unless_waited_for() noexcept { return word_.set_unless_waited_for(); }
  /// Sets the event, and returns the waiter, which the caller must wake; null if none waits. If the waiter is
  /// served, an `auto_reset` event stays unset.
  waiter* set_for_waiter(bool auto_reset) noexcept;
  /// As event_state's. Requires: no coroutine is waiting; else the program ends with `misuse`.
  bool enqueue(queued_waiter& arriving, bool auto_reset, const char* misuse) noexcept;
  bool withdraw(queued_waiter& waiting) noexcept;

 private:
  event_word<std::uintptr_t> word_;
};
}  // namespace coracle::detail
