// coracle/core/detail/wait_queue.hpp -- a queue of waiting coroutines, from which a stop request removes one.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/base/intrusive_list.hpp>
#include <coracle/core/detail/choice.hpp>
#include <coracle/core/detail/queued_waiter.hpp>
#include <coracle/core/executor.hpp>

namespace coracle::detail {
/// Waiters served under a lock, which the holder wakes in this order after releasing it.
class wake_list {
 public:
  /// Requires: taken out of its queue.
  void add(waiter& served) noexcept {
    *end_ = &served;
    end_ = &served.next;
  }
  void wake() noexcept {
    *end_ = nullptr;
    wake_all(static_cast<waiter*>(first_));
  }

 private:
  plain<resumption*> first_ = nullptr;
  plain<resumption*>* end_ = &first_;
};

/// Waiters in order of arrival. It has no lock of its own: the primitive's locked_word is held around each
/// call. A waiter whose choice another branch has claimed is lost: it is not served, and stays until the stop
/// request of its when_any() withdraws it. A queue that is not empty may therefore hold no waiter to serve.
class wait_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return waiters_.empty(); }
  /// Returns the oldest, or null if there is none.
  [[nodiscard]] queued_waiter* front() const noexcept { return waiters_.front(); }
  /// Returns false if stop was requested meanwhile; the waiter is then not in the queue.
  [[nodiscard]] bool push(queued_waiter& arriving) noexcept {
    const bool waits = arriving.arrive(queued_waiter::queued);
    if (waits) put(arriving);
    return waits;
  }
  /// As push(), for a waiter that is already queued.
  void put(queued_waiter& waiting) noexcept { waiters_.push(waiting); }
  /// For an enqueue() that finds that it need not wait. Returns false if stop was requested meanwhile or the
  /// choice is lost; nothing may then be taken for this waiter. If it returns true, a later stop request has
  /// no effect.
  [[nodiscard]] bool serve_at_once(queued_waiter& arriving) noexcept {
    return arriving.arrive(queued_waiter::served);
  }
  /// Serves the oldest that is not lost; the caller wakes it once the lock is released. Returns null if there
  /// is none.
  [[nodiscard]] queued_waiter* claim() noexcept {
    queued_waiter* each = front();
    while (each && !each->claim()) each = after(*each);
    if (each) take(*each);
    return each;
  }
  /// Serves all that are not lost; the caller wakes them with wake_all() once the lock is released.
  [[nodiscard]] queued_waiter* claim_all() noexcept;
  /// Returns the oldest that is not lost so far, or null if there is none.
  [[nodiscard]] queued_waiter* first_to_serve() const noexcept {
    queued_waiter* each = front();
    while (each && each->is_lost()) each = after(*each);
    return each;
  }
  /// Removes a waiter without serving it: it stays `queued` but is not linked. A mutex does so to wake a
  /// waiter that has yet to take the lock, and puts it back in front if another thread was faster. Its stop
  /// listener stays registered. Requires: it is queued.
  void detach(queued_waiter& waiting) noexcept {
    waiters_.remove(waiting);
    waiting.set_progress(queued_waiter::queued);
  }
  /// Puts a detached waiter back in front.
  void put_in_front(queued_waiter& waiting) noexcept { waiters_.push_front(waiting); }
  /// As claim(), but also serves `arriving`: both or neither. Returns null if no waiter can meet it, or
  /// `arriving` is cancelled.
  [[nodiscard]] queued_waiter* meet(queued_waiter& arriving) noexcept;
  /// Serves a waiter out of turn; the caller wakes it once the lock is released. Requires: it is queued.
  void take(queued_waiter& waiting) noexcept {
    waiters_.remove(waiting);
    waiting.set_progress(queued_waiter::served);
  }
  /// Serves all but the lost ones, which it cancels; the caller wakes both kinds with wake_all() once the
  /// lock is released.
  queued_waiter* take_all() noexcept {
    queued_waiter* const first = waiters_.take_all();
    for (queued_waiter* each = first; each; each = after(*each)) each->leave();
    return first;
  }
  /// Cancels a waiter, unless it has been served. Returns true if it was in the queue; the caller must have
  /// it woken.
  [[nodiscard]] bool withdraw(queued_waiter& waiting) noexcept {
    if (waiting.progress() == queued_waiter::queued) waiters_.remove(waiting);
    return waiting.cancel();
  }

 private:
  static queued_waiter* after(queued_waiter& one) noexcept { return static_cast<queued_waiter*>(one.next); }

  intrusive_list<queued_waiter> waiters_;
};

inline queued_waiter* wait_queue::claim_all() noexcept {
  plain<resumption*> first = nullptr;
  plain<resumption*>* end = &first;
  for (queued_waiter *each = front(), *next; each; each = next) {
    next = after(*each);
    if (!each->claim()) continue;
    take(*each);
    *detail::exchange(end, &each->next) = each;
  }
  *end = nullptr;
  return static_cast<queued_waiter*>(first);
}

inline queued_waiter* wait_queue::meet(queued_waiter& arriving) noexcept {
  if (arriving.progress() == queued_waiter::cancelled) return nullptr;
  for (queued_waiter* each = front(); each; each = after(*each)) {
    const choice::meeting met = choice::claim_both(arriving.one_of(), each->one_of());
    if (met == choice::meeting::other_is_lost) continue;
    if (met == choice::meeting::mine_is_lost) {
      arriving.cancel_for(stop_reason::lost_race);
      return nullptr;
    }
    arriving.set_progress(queued_waiter::served);
    take(*each);
    return each;
  }
  return nullptr;
}
}  // namespace coracle::detail
