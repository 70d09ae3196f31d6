// coracle/sync/async_manual_reset_event.hpp -- an event that stays set and wakes every waiter.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/sync/detail/event_state.hpp>

namespace coracle {
/// An event for any number of coroutines; it stays set until it is reset.
///
///     coracle::async_manual_reset_event loaded;
///     co_await loaded;   // in any number of coroutines
///     loaded.set();      // in another: all of them resume
///
/// Order         waiters are woken first come, first served.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside set(), on its
///               thread.
/// Cancellation  a stop request ends the wait; the event is not affected.
/// Exceptions    the await: operation_cancelled. The members are noexcept.
/// Threads       all members are thread-safe. It may be destroyed once every await of it has ended: for
///               instance by its only waiter, inside set().
/// Cost          24 bytes; no allocation; a set event costs the awaiter one load, set() without waiters one
///               atomic operation.
class async_manual_reset_event {
 public:
  async_manual_reset_event() noexcept : async_manual_reset_event(false) {}
  explicit async_manual_reset_event(bool initially_set) noexcept : state_(initially_set) {}
  async_manual_reset_event(const async_manual_reset_event&) = delete;
  async_manual_reset_event& operator=(const async_manual_reset_event&) = delete;
  /// Requires: no coroutine is waiting.
  ~async_manual_reset_event() {
    CORACLE_REQUIRE(
        !is_waited_for(),
        "an async_manual_reset_event was destroyed while coroutines wait for it: stop and join them first");
  }

  [[nodiscard]] bool is_set() const noexcept { return state_.is_set(); }
  /// Sets the event and wakes every waiter. No effect if it is set already.
  void set() noexcept {
    if (!state_.set_unless_waited_for()) state_.set_for_all();
  }
  /// Resets the event: later awaits wait again. No effect if it is not set.
  void reset() noexcept { state_.reset(); }

  class wait_operation;
  wait_operation operator co_await() const noexcept;

 private:
  friend class async_latch;
  [[nodiscard]] bool is_waited_for() const noexcept { return state_.is_waited_for(); }

  mutable detail::event_state state_;  // a const event can be awaited
};

class [[nodiscard("an event does nothing until it is awaited")]] async_manual_reset_event::wait_operation
    : public detail::stoppable_wait<wait_operation> {
 public:
  explicit wait_operation(const async_manual_reset_event& event) noexcept : event_(event) {}
  using stoppable_wait::try_at_once;
  void await_resume() { finish(); }

 private:
  friend stoppable_wait;
  bool try_now() const noexcept { return event_.is_set(); }
  bool enqueue() noexcept { return event_.state_.enqueue(node(), false); }
  bool withdraw() noexcept { return event_.state_.withdraw(node()); }

  const async_manual_reset_event& event_;
};
inline async_manual_reset_event::wait_operation async_manual_reset_event::operator co_await() const noexcept {
  return wait_operation{*this};
}
}  // namespace coracle
