// src/sync/event_state.cpp -- events that coroutines wait for.
// SPDX-License-Identifier: MIT
#include <coracle/sync/detail/event_state.hpp>

namespace coracle::detail {
void event_state::set_for_all() noexcept {
  waiter* const only = word_.take_alone(word_.is_set_now);
  only ? only->wake() : set_for_several();
}

void event_state::set_for_one() noexcept {
  waiter* const only = word_.take_alone(word_.not_set);
  only ? only->wake() : set_for_first();
}

bool event_state::withdraw(queued_waiter& waiting) noexcept { return word_.withdraw(waiting, word_.not_set); }

void event_state::set_for_several() noexcept {
  word_.lock_queue();
  queued_waiter* const first = word_.queue.take_all();
  word_.unlock(word_.is_set_now);
  wake_all(first);
}

void event_state::set_for_first() noexcept {
  word_.lock_queue();
  queued_waiter* const first = word_.queue.claim();
  word_.unlock(!first ? word_.is_set_now : word_.queue.empty() ? word_.not_set : word_.waited_for);
  if (first) first->wake();
}

bool event_state::enqueue_after_others(queued_waiter& arriving, std::uintptr_t begun,
                                       bool auto_reset) noexcept {
  const std::uintptr_t seen = word_.end_lock(begun);
  if (seen != word_.is_set_now) return word_.wait(arriving, seen, word_.not_set);
  const bool passes = word_.queue.serve_at_once(arriving);
  word_.unlock(passes && auto_reset ? word_.not_set : word_.is_set_now);
  return false;
}

waiter* single_waiter_event_state::set_for_waiter(bool auto_reset) noexcept {
  const std::uintptr_t seen = word_.lock();
  queued_waiter* const waiting = waiter_or_value::from_bits(seen).pointer_above(word_.is_set_now);
  const bool served = waiting && waiting->leave();
  word_.unlock(served && auto_reset ? word_.not_set : word_.is_set_now);
  return waiting;
}

bool single_waiter_event_state::enqueue(queued_waiter& arriving, bool auto_reset,
                                        const char* misuse) noexcept {
  const std::uintptr_t seen = word_.lock();
  CORACLE_REQUIRE(seen <= word_.is_set_now, misuse);
  if (seen == word_.is_set_now) {
    const bool passes = arriving.arrive(queued_waiter::served);
    word_.unlock(passes && auto_reset ? word_.not_set : word_.is_set_now);
    return false;
  }
  const bool waits = arriving.arrive(queued_waiter::queued);
  word_.unlock(waits ? waiter_or_value(&arriving).bits() : seen);
  return waits;
}

bool single_waiter_event_state::withdraw(queued_waiter& waiting) noexcept {
  const std::uintptr_t seen = word_.lock();
  const bool waited = waiting.cancel();
  word_.unlock(waited ? word_.not_set : seen);
  return waited;
}
}  // namespace coracle::detail
