// coracle/sync/single_consumer_event.hpp -- a manual-reset event for one coroutine.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/sync/detail/event_state.hpp>

namespace coracle {
/// An event for one waiting coroutine at a time; it stays set until it is reset.
///
///     coracle::single_consumer_event reply_came;
///     co_await reply_came;   // in one coroutine
///     reply_came.set();      // in another: the first resumes
///
/// Prefer async_manual_reset_event if several coroutines may wait at the same time.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside set(), on its
///               thread.
/// Cancellation  a stop request ends the wait; the event is not affected. The waiting coroutine may also
///               be destroyed, unless the event is set at the same time or has woken it already.
/// Exceptions    the await: operation_cancelled. The members are noexcept.
/// Threads       set(), reset() and is_set() from any thread, one awaiter at a time. The woken coroutine may
///               destroy the event.
/// Cost          8 bytes; no allocation; a set event costs the awaiter one load, another one atomic
///               operation.
class single_consumer_event {
 public:
  single_consumer_event() noexcept : single_consumer_event(false) {}
  explicit single_consumer_event(bool initially_set) noexcept : state_(initially_set) {}
  single_consumer_event(const single_consumer_event&) = delete;
  single_consumer_event& operator=(const single_consumer_event&) = delete;
  /// Requires: no coroutine is waiting.
  ~single_consumer_event() {
    CORACLE_REQUIRE(
        !state_.is_waited_for(),
        "a single_consumer_event was destroyed while a coroutine waits for it: stop and join it first");
  }

  [[nodiscard]] bool is_set() const noexcept { return state_.is_set(); }
  /// Sets the event and wakes the waiter, if there is one. No effect if it is set already.
  void set() noexcept {
    if (!state_.set_unless_waited_for()) wake_waiter();
  }
  /// Resets the event: a later await waits again. No effect if it is not set.
  void reset() noexcept { state_.reset(); }

  class wait_operation;
  /// Requires: no other coroutine awaits it at the same time.
  wait_operation operator co_await() const noexcept;

 private:
  CORACLE_NOINLINE() void wake_waiter() noexcept {
    if (waiter* const woken = state_.set_for_waiter(false)) woken->wake();
  }

  mutable detail::single_waiter_event_state state_;  // a const event can be awaited
};

class [[nodiscard("an event does nothing until it is awaited")]] single_consumer_event::wait_operation
    : public detail::stoppable_wait<wait_operation> {
 public:
  explicit wait_operation(const single_consumer_event& event) noexcept : event_(event) {}
  wait_operation(const wait_operation&) = default;
  wait_operation& operator=(const wait_operation&) = delete;
  ~wait_operation() { abandon(); }
  void await_resume() { finish(); }

 private:
  friend stoppable_wait;
  bool try_now() const noexcept { return event_.is_set(); }
  bool enqueue() noexcept {
    return event_.state_.enqueue(
        node(), false,
        "two coroutines await a single_consumer_event at the same time: use an async_manual_reset_event");
  }
  bool withdraw() noexcept { return event_.state_.withdraw(node()); }

  const single_consumer_event& event_;
};
inline single_consumer_event::wait_operation single_consumer_event::operator co_await() const noexcept {
  return wait_operation{*this};
}
}  // namespace coracle
