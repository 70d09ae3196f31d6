// coracle/sync/single_consumer_event.hpp -- a gate for one coroutine.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/detail/atomic.hpp>

namespace coracle {
/// An event that one coroutine at a time waits for; it stays set until it is reset.
///
///     coracle::single_consumer_event reply_came;
///     co_await reply_came;   // in one coroutine
///     reply_came.set();      // in another: the first goes on
///
/// Prefer async_manual_reset_event where several coroutines may wait at the same time.
/// Resumes on    the executor on which the waiter suspended; outside any, inside set(), on its thread.
/// Cancellation  a stop request does not end the wait. The waiting coroutine may be destroyed instead, unless
///               the event is set at the same time or has woken it already.
/// Exceptions    none: every member is noexcept.
/// Threads       set(), reset() and is_set() from any thread, one awaiter at a time. Whoever was woken may
///               destroy the event.
/// Cost          8 bytes; no allocation, no lock; a set event costs the awaiter one load, another one atomic
///               operation.
class single_consumer_event {
 public:
  explicit single_consumer_event(bool initially_set = false) noexcept
      : state_(initially_set ? this : nullptr) {}
  single_consumer_event(const single_consumer_event&) = delete;
  single_consumer_event& operator=(const single_consumer_event&) = delete;
  /// Requires: nobody waits.
  ~single_consumer_event() {
    CORACLE_CHECK(!is_waited_for(), "a single_consumer_event was destroyed while a coroutine waits for it");
  }

  [[nodiscard]] bool is_set() const noexcept {
    return state_.load(detail::memory_order_acquire) == this; /*S1*/
  }
  /// Wakes the waiter, if there is one; who comes later does not wait. No effect if set already.
  void set() noexcept {
    void* const seen = state_.exchange(this, detail::memory_order_acq_rel); /*S3*/
    if (seen != nullptr && seen != this) static_cast<waiter*>(seen)->wake();
  }
  /// A later await waits again. No effect if not set.
  void reset() noexcept {
    void* expected = this;
    state_.compare_exchange_strong(expected, nullptr, detail::memory_order_acquire,
                                   detail::memory_order_relaxed); /*S2*/
  }

  class wait_operation;
  /// Requires: no other coroutine awaits it meanwhile.
  wait_operation operator co_await() noexcept;

 private:
  bool enqueue(waiter& self) noexcept;
  void withdraw(waiter& self) noexcept {
    void* expected = &self;
    state_.compare_exchange_strong(expected, nullptr, detail::memory_order_relaxed); /*S6*/
  }
  bool is_waited_for() const noexcept {
    void* const state = state_.load(detail::memory_order_relaxed);
    return state != nullptr && state != this;
  }

  // state_ is null: not set, nobody waits; this: set; else the waiter.
  // The waiter's fields belong to its coroutine until S4 publishes them, then to the set() that takes it.
  //   [S1] load            acquire  see what the setter wrote                  pairs with S3
  //   [S2] set -> not set  acquire  see what the setter wrote                  pairs with S3
  //   [S3] any -> set      acq_rel  publish the setter's writes, read the      pairs with S1, S2, S5; S4
  //                                 waiter's fields
  //   [S4] null -> waiter  release  publish its fields                         pairs with S3
  //   [S5] found it set    acquire  see what the setter wrote                  pairs with S3
  //   [S6] waiter -> null  relaxed  nobody has looked at its fields
  detail::atomic<void*> state_;
};

class [[nodiscard("an event does nothing until it is awaited")]] single_consumer_event::wait_operation
    : waiter {
 public:
  explicit wait_operation(single_consumer_event& event) noexcept : event_(event) {}
  wait_operation(const wait_operation&) = delete;
  wait_operation& operator=(const wait_operation&) = delete;
  /// Still has the handle where the coroutine is destroyed while it waits.
  ~wait_operation() {
    if (handle) event_.withdraw(*this);
  }
  bool await_ready() const noexcept { return event_.is_set(); }
  CORACLE_NOINLINE_SUSPEND() bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspend(suspended);
    return event_.enqueue(*this);
  }
  void await_resume() noexcept { handle = nullptr; }

 private:
  single_consumer_event& event_;
};
inline single_consumer_event::wait_operation single_consumer_event::operator co_await() noexcept {
  return wait_operation{*this};
}

inline bool single_consumer_event::enqueue(waiter& self) noexcept {
  void* seen = nullptr;
  if (state_.compare_exchange_strong(seen, &self, detail::memory_order_release, /*S4*/
                                     detail::memory_order_acquire)) {           /*S5*/
    return true;
  }
  CORACLE_CHECK(seen == this, "two coroutines await a single_consumer_event at the same time");
  return false;
}
}  // namespace coracle
