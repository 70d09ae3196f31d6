// coracle/core/detail/waited_word.hpp -- the state word of a primitive that mostly has at most one waiter.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/locked_word.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/detail/queued_waiter.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <cstdint>

namespace coracle::detail {
/// The address of a waiter or, below any address, a value of the primitive.
using waiter_or_value = tagged_pointer<queued_waiter, no_tag>;

/// A state word, to which a derived word may add more, and the wait queue beside it. The word points to a
/// single waiter that is no branch of a choice; all other waiters are in the queue. A single waiter is served
/// without the lock: only the word records it, and its own state stays `queued`. Values below `waited_for`
/// belong to the primitive: no waiter can be served then.
//
//   [A1] alone -> another      acq_rel  sees the waiter; publishes what its server wrote   pairs with B2; B1,
//                                       and the primitive's own
//   [A2] load                  relaxed  a hint before A1
//   [A3] load                  relaxed  no concurrent use
template <class Word = locked_word<std::uintptr_t>>
class waited_word : public Word {
 public:
  static constexpr std::uintptr_t waited_for = 8;  // the waiters are in the queue

  using Word::Word;

  /// Requires: no concurrent use.
  [[nodiscard]] bool is_waited_for() const noexcept {
    return this->load(memory_order_relaxed) > waited_for || !queue.empty(); /*A3*/
  }
  /// Serves the single waiter, which the caller must wake, and stores `next`. Returns null if there is none
  /// or the lock is held.
  [[nodiscard]] waiter* take_alone(std::uintptr_t next) noexcept {
    return take_alone(this->load(memory_order_relaxed), next); /*A2*/
  }
  /// As above, if the word still equals `seen`.
  [[nodiscard]] waiter* take_alone(std::uintptr_t seen, std::uintptr_t next) noexcept {
    queued_waiter* const only = alone(seen & ~this->lock_bit);
    const bool is_taken = only && this->change_from(word_of(*only), next, memory_order_acq_rel); /*A1*/
    return is_taken ? only : nullptr;
  }
  /// Takes the lock and moves a single waiter into the queue. Returns the value found, or `waited_for`.
  std::uintptr_t lock_queue() noexcept { return queue_up(this->lock()); }
  /// As lock_queue(), with the lock held; `seen` is the value that lock() found.
  std::uintptr_t queue_up(std::uintptr_t seen) noexcept {
    queued_waiter* const only = alone(seen);
    if (only) queue.put(*only);
    return only ? waited_for : seen;
  }
  /// Called with the lock held, and releases it. `seen` is the value that lock() found, `nobody` the value
  /// without waiters. Returns false if stop was requested meanwhile.
  [[nodiscard]] bool wait(queued_waiter& arriving, std::uintptr_t seen, std::uintptr_t nobody) noexcept {
    if (!arriving.arrive(queued_waiter::queued)) [[unlikely]] {
      this->unlock(seen);
      return false;
    }
    this->unlock(with(arriving, seen, nobody));
    return true;
  }
  /// As wait_queue::withdraw(). Takes the lock.
  [[nodiscard]] bool withdraw(queued_waiter& waiting, std::uintptr_t nobody) noexcept {
    return withdraw(waiting, this->lock(), nobody);
  }
  /// As above, but called with the lock held, and releases it; `seen` is the value that lock() found.
  [[nodiscard]] bool withdraw(queued_waiter& waiting, std::uintptr_t seen, std::uintptr_t nobody) noexcept {
    const bool is_alone = alone(seen) == &waiting;
    const bool is_served = !is_alone && waiting.is_queued_alone();
    const bool waited = is_alone ? waiting.cancel() : !is_served && queue.withdraw(waiting);
    this->unlock(is_alone || (seen == waited_for && queue.empty()) ? nobody : seen);
    return waited;
  }

  wait_queue queue;  // guarded by the lock

 private:
  /// Returns null if `word` is `waited_for` or one of the primitive's values.
  static queued_waiter* alone(std::uintptr_t word) noexcept {
    return waiter_or_value::from_bits(word).pointer_above(waited_for);
  }
  static std::uintptr_t word_of(queued_waiter& only) noexcept { return waiter_or_value(&only).bits(); }
  /// The value of the word once `arriving` waits, too.
  std::uintptr_t with(queued_waiter& arriving, std::uintptr_t seen, std::uintptr_t nobody) noexcept {
    if (seen == nobody && queue.empty() && !arriving.is_branch()) [[likely]]
      return word_of(arriving);
    if (queued_waiter* const only = alone(seen)) queue.put(*only);
    queue.put(arriving);
    return waited_for;
  }
};
}  // namespace coracle::detail
