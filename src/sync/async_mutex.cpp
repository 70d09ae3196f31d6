// src/sync/async_mutex.cpp -- a mutex that coroutines wait for: who takes it next.
// SPDX-License-Identifier: MIT
#include <coracle/sync/async_mutex.hpp>
#include <utility>

namespace coracle {
/// Called with the lock of the word held, which it releases. Returns false if stop is requested.
inline bool async_mutex::wait(contender& arriving, std::uintptr_t seen) noexcept {
  arriving.mutex = this;
  if ((seen & one_comes) == 0) return state_.wait(arriving, seen, arriving.home ? is_free : is_held);
  const bool waits = state_.queue.push(arriving);
  state_.unlock(seen);
  return waits;
}

/// Returns false if it took the lock instead, or stop is requested.
bool async_mutex::enqueue(contender& arriving) noexcept {
  const std::uintptr_t seen = state_.lock();
  if (!may_be_taken(seen)) return wait(arriving, seen);
  state_.unlock(state_.queue.serve_at_once(arriving) ? taken(seen) : seen);
  return false;
}

bool async_mutex::withdraw(contender& waiting) noexcept {
  const std::uintptr_t seen = state_.lock();
  if ((seen & one_comes) == 0) return state_.withdraw(waiting, seen, is_held);
  const bool comes = waiting.is_queued_alone();
  const bool waited = comes ? waiting.cancel() : state_.queue.withdraw(waiting);
  state_.unlock(seen);
  return waited && !comes;
}

/// A woken waiter tries to take the lock. Returns false if it keeps waiting; it may be destroyed by then.
inline bool async_mutex::arrive(contender& woken) noexcept {
  const std::uintptr_t seen = state_.lock();
  const bool is_taken = (seen & is_held) != 0;
  const bool is_cancelled = woken.progress() == detail::queued_waiter::cancelled;
  if (is_taken && !is_cancelled) {
    woken.overtaken = (seen & ~(is_held | one_comes)) + overtakings_of_a_loss * one_overtaking;
    state_.queue.put_in_front(woken);
    state_.unlock(state_.waited_for);
    return false;
  }
  const bool takes = !is_cancelled && woken.leave();
  is_taken || takes ? state_.unlock(held()) : let_next_in();
  return true;
}

/// Called with the lock of the word held, which it releases, by the holder or by a woken waiter that does not
/// take the mutex. Wakes the first in the queue, or hands it the lock; if there is none the mutex is free.
void async_mutex::let_next_in() noexcept {
  while (detail::queued_waiter* const first = state_.queue.first_to_serve()) {
    contender& next = static_cast<contender&>(*first);
    const bool comes = next.home && next.overtaken < overtaken_enough;
    if (comes) {
      state_.queue.detach(next);
      next.coroutine = std::exchange(next.queued_waiter::handle, next.basic_callback_frame::handle());
      state_.unlock(one_comes | next.overtaken);
    } else {
      if (!next.claim()) continue;
      state_.queue.take(next);
      state_.unlock(held());
    }
    return next.wake();
  }
  state_.unlock(is_free);
}

/// Wakes a coroutine once it has the lock: now, or in its turn. Not cancellable in between.
void async_mutex::lock_for(contender& suspended) noexcept {
  const std::uintptr_t seen = state_.lock();
  if (suspended.home ? seen != is_free : !may_be_taken(seen)) {
    static_cast<void>(wait(suspended, seen));
  } else if (suspended.home) {
    suspended.mutex = this;
    static_cast<void>(state_.queue.push(suspended));
    let_next_in();
  } else {
    static_cast<void>(state_.queue.serve_at_once(suspended));
    state_.unlock(taken(seen));
    suspended.wake();
  }
}

void async_mutex::unlock_contended(std::uintptr_t seen) noexcept {
  waiter* const only = (seen & one_comes) == 0 ? state_.take_alone(seen, is_held) : nullptr;
  only ? only->wake() : unlock_queue();
}

void async_mutex::unlock_queue() noexcept {
  const std::uintptr_t seen = state_.lock();
  CORACLE_REQUIRE(seen != is_free && (seen & (is_held | one_comes)) != one_comes,
                  "unlock() of an async_mutex that is not held: lock it first, and unlock it once");
  if ((seen & one_comes) != 0) return state_.unlock(seen - is_held);
  state_.queue_up(seen);
  let_next_in();
}

void async_mutex::contender::try_again(basic_callback_frame* frame) {
  auto& self = static_cast<contender&>(*frame);
  const std::coroutine_handle<> coroutine = self.coroutine;
  self.queued_waiter::handle = coroutine;
  if (self.mutex->arrive(self)) detail::resume_on_return(coroutine);
}
}  // namespace coracle
