// coracle/sync/async_manual_reset_event.hpp -- a gate: closed it suspends, set it lets everybody through.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/detail/atomic.hpp>

namespace coracle {
/// Coroutines wait until it is set; it stays set until it is reset.
///
///     coracle::async_manual_reset_event loaded;
///     co_await loaded;   // in any number of coroutines
///     loaded.set();      // in another: all of them go on
///
/// Order         waiters are woken first come, first served.
/// Resumes on    the executor on which the waiter suspended; outside any, inside set(), on its thread.
/// Cancellation  a stop request does not end the wait: the event must be set.
/// Exceptions    none: every member is noexcept.
/// Threads       all members are thread-safe. The event outlives its waiters; the last one to be woken may
///               destroy it.
/// Cost          8 bytes; no allocation, no lock; a set event costs the awaiter one load.
class async_manual_reset_event {
 public:
  explicit async_manual_reset_event(bool initially_set = false) noexcept
      : state_(initially_set ? this : nullptr) {}
  async_manual_reset_event(const async_manual_reset_event&) = delete;
  async_manual_reset_event& operator=(const async_manual_reset_event&) = delete;
  /// Requires: nobody waits.
  ~async_manual_reset_event() {
    CORACLE_CHECK(!is_waited_for(), "an async_manual_reset_event was destroyed while coroutines wait for it");
  }

  [[nodiscard]] bool is_set() const noexcept {
    return state_.load(detail::memory_order_acquire) == this; /*E1*/
  }
  /// Wakes all waiters; those that come later do not wait. No effect if set already.
  void set() noexcept;
  /// Later awaits wait again. No effect if not set.
  void reset() noexcept {
    void* expected = this;
    state_.compare_exchange_strong(expected, nullptr, detail::memory_order_acquire,
                                   detail::memory_order_relaxed); /*E2*/
  }

  class [[nodiscard("an event does nothing until it is awaited")]] wait_operation : waiter {
   public:
    explicit wait_operation(async_manual_reset_event& event) noexcept : event_(event) {}
    bool await_ready() const noexcept { return event_.is_set(); }
    CORACLE_NOINLINE_SUSPEND() bool await_suspend(std::coroutine_handle<> suspended) noexcept {
      return event_.enqueue(*this, suspended);
    }
    void await_resume() const noexcept {}

   private:
    friend async_manual_reset_event;
    async_manual_reset_event& event_;
  };
  wait_operation operator co_await() noexcept { return wait_operation{*this}; }

 private:
  bool enqueue(waiter& self, std::coroutine_handle<> suspended) noexcept;
  bool is_waited_for() const noexcept {
    void* const state = state_.load(detail::memory_order_relaxed);
    return state != nullptr && state != this;
  }

  // state_ is null: not set, nobody waits; this: set; else the newest of a stack of waiters.
  // A waiter's fields belong to its coroutine until E4 publishes them, then to the set() that takes them.
  //   [E1] load              acquire  see what the setter wrote              pairs with E3
  //   [E2] set -> not set    acquire  see what the setter wrote              pairs with E3
  //   [E3] any -> set        acq_rel  publish the setter's writes, read      pairs with E1, E2, E5; E4
  //                                   the waiters' fields
  //   [E4] push a waiter     release  publish its fields                     pairs with E3
  //   [E5] found it set      acquire  see what the setter wrote              pairs with E3
  detail::atomic<void*> state_;
};

inline bool async_manual_reset_event::enqueue(waiter& self, std::coroutine_handle<> suspended) noexcept {
  self.suspend(suspended);
  void* seen = state_.load(detail::memory_order_acquire); /*E5*/
  do {
    if (seen == this) return false;
    self.next = static_cast<waiter*>(seen);
  } while (!state_.compare_exchange_weak(seen, static_cast<waiter*>(&self),
                                         detail::memory_order_release, /*E4*/
                                         detail::memory_order_acquire)); /*E5*/
  return true;
}

inline void async_manual_reset_event::set() noexcept {
  void* const seen = state_.exchange(this, detail::memory_order_acq_rel); /*E3*/
  if (seen == this) return;
  detail::wake_all(detail::oldest_first(static_cast<waiter*>(seen)));
}
}  // namespace coracle
