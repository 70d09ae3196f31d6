// coracle/sync/async_auto_reset_event.hpp -- an event that each set() delivers to one waiter.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/sync/detail/event_state.hpp>

namespace coracle {
/// An event whose set() wakes one waiter; without a waiter one set() is remembered.
///
///     coracle::async_auto_reset_event work_added;
///     for (;;) { co_await work_added; do_all_work(); }
///
/// Order         waiters are woken first come, first served.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside set(), on its
///               thread.
/// Cancellation  a stop request ends the wait; a set() goes to another waiter or is remembered, never to one
///               that was cancelled.
/// Exceptions    the await: operation_cancelled. The members are noexcept.
/// Threads       all members are thread-safe. It may be destroyed once every await of it has ended.
/// Cost          24 bytes; no allocation; without contention set() and the await are one atomic operation
///               each.
class async_auto_reset_event {
 public:
  async_auto_reset_event() noexcept : async_auto_reset_event(false) {}
  explicit async_auto_reset_event(bool initially_set) noexcept : state_(initially_set) {}
  async_auto_reset_event(const async_auto_reset_event&) = delete;
  async_auto_reset_event& operator=(const async_auto_reset_event&) = delete;
  /// Requires: no coroutine is waiting.
  ~async_auto_reset_event() {
    CORACLE_REQUIRE(
        !state_.is_waited_for(),
        "an async_auto_reset_event was destroyed while coroutines wait for it: stop and join them first");
  }

  /// Wakes one waiter or, if there is none, lets the next await pass. No effect if it is set already.
  void set() noexcept {
    if (!state_.set_unless_waited_for()) state_.set_for_one();
  }
  /// Discards a set() that no await has consumed. No effect if the event is not set.
  void reset() noexcept { state_.reset(); }

  class wait_operation;
  wait_operation operator co_await() const noexcept;

 private:
  mutable detail::event_state state_;  // a const event can be awaited
};

class [[nodiscard("an event does nothing until it is awaited")]] async_auto_reset_event::wait_operation
    : public detail::stoppable_wait<wait_operation> {
 public:
  explicit wait_operation(const async_auto_reset_event& event) noexcept : event_(event) {}
  using stoppable_wait::try_at_once;
  void await_resume() { finish(); }

 private:
  friend stoppable_wait;
  bool try_now() const noexcept { return event_.state_.reset_if_set(); }
  bool enqueue() noexcept { return event_.state_.enqueue(node(), true); }
  bool withdraw() noexcept { return event_.state_.withdraw(node()); }

  const async_auto_reset_event& event_;
};
inline async_auto_reset_event::wait_operation async_auto_reset_event::operator co_await() const noexcept {
  return wait_operation{*this};
}
}  // namespace coracle
