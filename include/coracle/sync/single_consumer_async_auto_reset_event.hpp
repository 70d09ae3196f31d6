// coracle/sync/single_consumer_async_auto_reset_event.hpp -- an auto-reset event for one coroutine.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/sync/detail/event_state.hpp>

namespace coracle {
/// An event whose set() wakes its one consumer; while the consumer does not wait, any number of set()s is
/// remembered as one.
///
///     coracle::single_consumer_async_auto_reset_event work_added;
///     for (;;) { co_await work_added; do_all_work(); }   // set() after adding work, on any thread
///
/// Prefer async_auto_reset_event if several coroutines may wait at the same time.
/// Resumes on    the executor on which the consumer suspended; outside any executor, inside set(), on its
///               thread.
/// Cancellation  a stop request ends the wait; a set() is then remembered for the next one. The waiting
///               coroutine may also be destroyed, unless the event is set at the same time or has woken it
///               already.
/// Exceptions    the await: operation_cancelled. The members are noexcept.
/// Threads       set() from any thread, one awaiter at a time. The consumer sees everything done before each
///               set() that it has consumed, and may destroy the event once no further set() will begin.
/// Cost          8 bytes; no allocation; one atomic operation to set, one to wait.
class single_consumer_async_auto_reset_event {
 public:
  single_consumer_async_auto_reset_event() noexcept : single_consumer_async_auto_reset_event(false) {}
  explicit single_consumer_async_auto_reset_event(bool initially_set) noexcept : state_(initially_set) {}
  single_consumer_async_auto_reset_event(const single_consumer_async_auto_reset_event&) = delete;
  single_consumer_async_auto_reset_event& operator=(const single_consumer_async_auto_reset_event&) = delete;
  /// Requires: no coroutine is waiting.
  ~single_consumer_async_auto_reset_event() {
    CORACLE_REQUIRE(!state_.is_waited_for(),
                    "a single_consumer_async_auto_reset_event was destroyed while a coroutine waits for it: "
                    "stop and join it first");
  }

  /// Wakes the consumer or, if it is not waiting, lets its next await pass.
  void set() noexcept {
    if (!state_.set_unless_waited_for()) wake_waiter();
  }

  class wait_operation;
  /// Requires: no other coroutine awaits it at the same time.
  wait_operation operator co_await() const noexcept;

 private:
  CORACLE_NOINLINE() void wake_waiter() noexcept {
    if (waiter* const woken = state_.set_for_waiter(true)) woken->wake();
  }

  mutable detail::single_waiter_event_state state_;  // a const event can be awaited
};

class [[nodiscard(
    "an event does nothing until it is awaited")]] single_consumer_async_auto_reset_event::wait_operation
    : public detail::stoppable_wait<wait_operation> {
 public:
  explicit wait_operation(const single_consumer_async_auto_reset_event& event) noexcept : event_(event) {}
  wait_operation(const wait_operation&) = default;
  wait_operation& operator=(const wait_operation&) = delete;
  ~wait_operation() { abandon(); }
  void await_resume() { finish(); }

 private:
  friend stoppable_wait;
  bool try_now() const noexcept { return event_.state_.reset_if_set(); }
  bool enqueue() noexcept {
    return event_.state_.enqueue(node(), true,
                                 "two coroutines await a single_consumer_async_auto_reset_event at the same "
                                 "time: use an async_auto_reset_event");
  }
  bool withdraw() noexcept { return event_.state_.withdraw(node()); }

  const single_consumer_async_auto_reset_event& event_;
};
inline single_consumer_async_auto_reset_event::wait_operation
single_consumer_async_auto_reset_event::operator co_await() const noexcept {
  return wait_operation{*this};
}
}  // namespace coracle
