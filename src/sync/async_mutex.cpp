// src/sync/async_mutex.cpp -- a mutex that coroutines wait for: which of them takes it next.
// SPDX-License-Identifier: MIT
#include <coracle/sync/async_mutex.hpp>

namespace coracle {
/// Returns false if it took the lock instead, or stop is requested.
bool async_mutex::enqueue(contender& arriving) noexcept {
  const std::uintptr_t seen = state_.lock();
  if (!may_be_taken(seen)) return wait(arriving, seen);
  state_.unlock(state_.queue.serve_at_once(arriving) ? taken(seen) : seen);
  return false;
}

/// Called with the lock of the word held, which it releases. Returns false if stop is requested.
bool async_mutex::wait(contender& arriving, std::uintptr_t seen) noexcept {
  if ((seen & waiter_woken) == 0) return state_.wait(arriving, seen, arriving.home ? is_free : is_held);
  const bool waits = state_.queue.push(arriving);
  state_.unlock(seen);
  return waits;
}

bool async_mutex::withdraw(contender& waiting) noexcept {
  const std::uintptr_t seen = state_.lock();
  if ((seen & waiter_woken) == 0) return state_.withdraw(waiting, seen, is_held);
  const bool must_wake = cancel(waiting);
  state_.unlock(seen);
  return must_wake;
}

/// Wakes a coroutine once it has the lock: now, or in its turn. Not cancellable in between.
void async_mutex::lock_for(contender& suspended) noexcept {
  const std::uintptr_t seen = state_.lock();
  if (suspended.home ? seen != is_free : !may_be_taken(seen)) {
    static_cast<void>(wait(suspended, seen));
  } else if (suspended.home) {
    static_cast<void>(state_.queue.push(suspended));
    let_in(is_free);
  } else {
    static_cast<void>(state_.queue.serve_at_once(suspended));
    state_.unlock(taken(seen));
    suspended.wake();
  }
}

void async_mutex::unlock_contended(std::uintptr_t seen) noexcept {
  waiter* const only = (seen & waiter_woken) == 0 ? state_.take_alone(seen, is_held) : nullptr;
  only ? only->wake() : unlock_queue();
}

void async_mutex::unlock_queue() noexcept {
  const std::uintptr_t seen = state_.lock();
  CORACLE_REQUIRE(!is_unheld(seen),
                  "unlock() of an async_mutex that is not held: lock it first, and unlock it once");
  if ((seen & waiter_woken) != 0) return state_.unlock(seen - is_held);
  state_.queue_up(seen);
  let_in(is_free);
}
}  // namespace coracle
