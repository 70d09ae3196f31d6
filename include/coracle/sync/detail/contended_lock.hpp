// coracle/sync/detail/contended_lock.hpp -- a lock that a woken waiter takes itself, with bounded overtaking.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/queued_waiter.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <cstdint>

namespace coracle::detail {
/// The bits of a lock's word that say that a woken waiter has yet to try, and how often it was overtaken. The
/// others belong to the lock: those from `free_for_others` up, and those below `waiter_woken`.
struct overtaking {
  static constexpr std::uint64_t waiter_woken = 4, once = 8, free_for_others = 1 << 14;
  static constexpr std::uint64_t max_count = is_modelled ? 4 : 1024, limit = max_count * once;
  /// A failed try of the waiter counts as this many overtakings: after four the lock is reserved for it.
  static constexpr std::uint64_t per_failed_try = max_count / 4 * once;
  static constexpr std::uint64_t count = free_for_others - once;
  static_assert(limit <= count);

  /// Requires: has `waiter_woken`.
  static constexpr bool is_allowed(std::uint64_t word) noexcept { return (word & count) < limit; }
};

struct no_promise {};
/// A waiter. If it were handed the lock, the lock would be held while the waiter is in its executor's queue.
/// So on an executor this frame is posted in place of the coroutine, and tries to take the lock when it runs.
template <class Lock>
struct contender : queued_waiter, basic_callback_frame<no_promise> {
  contender(std::coroutine_handle<> suspended, stop_listener::callback* on_stop) noexcept
      : queued_waiter(suspended, on_stop), basic_callback_frame(&try_again<false>) {}
  /// `Ends`: the coroutine is a task, which is ended if it is stopped on its way.
  template <bool Ends>
  contender(std::coroutine_handle<> suspended, stop_listener::callback* on_stop,
            std::bool_constant<Ends>) noexcept
      : queued_waiter(suspended, on_stop), basic_callback_frame(&try_again<Ends>) {}
  template <bool Ends>
  static void try_again(basic_callback_frame* frame) {
    auto& self = static_cast<contender&>(*frame);
    const std::coroutine_handle<> suspended = self.coroutine;
    self.queued_waiter::handle = suspended;
    if (!self.lock->arrive(self)) return;
    if (Ends && self.progress() == cancelled) [[unlikely]]
      static_cast<void>(end_when_resumed(self, &stopped_wait::resumed, CORACLE_EXCEPTIONS()));
    resume_on_return(suspended);
  }
  [[nodiscard]] bool may_be_overtaken() const noexcept { return home && overtaken < overtaking::limit; }
  /// Has the wake-up try to take `wanted`. Requires: detached from the queue. The caller wakes it.
  void try_when_resumed(Lock& wanted) noexcept {
    lock = &wanted;
    coroutine = detail::exchange(queued_waiter::handle, basic_callback_frame::handle());
  }

  plain<std::coroutine_handle<>> coroutine;  // while `handle` is this frame's
  plain<Lock*> lock = nullptr;
  plain<std::uint64_t> overtaken = 0;  // in units of overtaking::once, as in the word
};

/// Base of a lock whose first waiter is woken when the lock becomes free, and takes it once it runs. Until
/// then others may take it, `overtaking::max_count` times; then it is reserved for this waiter. One waiter at
/// a time is woken and has yet to try: it is `queued`, but not linked. `Lock` has the word `state_`, with its
/// own lock, the wait_queue queue(), and
///
///     static word holders(word);     // the word without its marks of waiters
///     static bool can_enter(word, const contender<Lock>&);  // whether this waiter, the first, can enter
///     static bool may_wake(word);    // true: a waiter is woken to try; false: it is handed the lock
///     static word with(word, const contender<Lock>&);       // the word once this waiter has entered
///     static word waited_for(word);  // the word, marked: waiters are in the queue
//
//   free                  unlock: the first waiter has no executor, or is at the limit  -> held by it
//                         unlock: otherwise                                             -> free, waiter woken
//   free, waiter woken    a newcomer locks, below the limit     -> held, waiter woken, one overtaking more
//                         the woken waiter tries                -> held by it
//   held, waiter woken    unlock                                -> free, waiter woken
//                         the woken waiter tries                -> held, with waiters: it is the first again
template <class Lock>
class contended_lock {
 public:
  contended_lock(const contended_lock&) = delete;
  contended_lock& operator=(const contended_lock&) = delete;

 protected:
  using word = std::uint64_t;
  contended_lock() noexcept = default;
  ~contended_lock() = default;

  /// A woken waiter tries to enter. Returns false if it keeps waiting; it may be destroyed by then.
  bool arrive(contender<Lock>& woken) noexcept {
    const word seen = self().state_.lock(), inside = Lock::holders(seen);
    const bool is_cancelled = woken.progress() == queued_waiter::cancelled;
    if (!is_cancelled && !Lock::can_enter(inside, woken)) {
      woken.overtaken = (seen & overtaking::count) + overtaking::per_failed_try;
      self().queue().put_in_front(woken);
      self().state_.unlock(Lock::waited_for(inside));
      return false;
    }
    let_in(!is_cancelled && woken.leave() ? Lock::with(inside, woken) : inside);
    return true;
  }
  /// Called with the lock of the word held, which it releases; `state` does not say that others wait. Wakes
  /// the first in the queue, or hands it the lock, and all that `state` still lets in. Touches nothing
  /// afterwards.
  CORACLE_NOINLINE() void let_in(word state) noexcept {
    wait_queue& queue = self().queue();
    wake_list woken;
    contender<Lock>* first;
    while ((first = static_cast<contender<Lock>*>(queue.first_to_serve())) &&
           Lock::can_enter(state, *first)) {
      if (Lock::may_wake(state) && first->may_be_overtaken()) {
        queue.detach(*first);
        first->try_when_resumed(self());
        state |= overtaking::waiter_woken | first->overtaken;
      } else {
        if (!first->claim()) continue;
        queue.take(*first);
        state = Lock::with(state, *first);
      }
      woken.add(*first);
    }
    self().state_.unlock(first ? Lock::waited_for(state) : state);
    woken.wake();
  }
  /// As wait_queue::withdraw(), with the lock of the word held, except that a waiter that was woken to try is
  /// cancelled and not woken again.
  [[nodiscard]] bool cancel(contender<Lock>& waiting) noexcept {
    const bool is_woken = waiting.is_queued_alone();
    const bool waited = is_woken ? waiting.cancel() : self().queue().withdraw(waiting);
    return waited && !is_woken;
  }

 private:
  friend contender<Lock>;
  Lock& self() noexcept { return static_cast<Lock&>(*this); }
};
}  // namespace coracle::detail
