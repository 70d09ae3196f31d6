// coracle/sync/single_consumer_async_auto_reset_event.hpp -- a gate for one coroutine, that closes behind it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/detail/atomic.hpp>

namespace coracle {
/// Each set() lets the one consumer through once; while it does not wait, any number of them is remembered as
/// one.
///
///     coracle::single_consumer_async_auto_reset_event work_added;
///     for (;;) { co_await work_added; do_all_work(); }   // set() after each piece of work, by anybody
///
/// Prefer async_auto_reset_event where several coroutines may wait at the same time.
/// Resumes on    the executor on which the consumer suspended; outside any, inside set(), on its thread.
/// Cancellation  a stop request does not end the wait. The waiting coroutine may be destroyed instead, unless
///               the event is set at the same time or has woken it already.
/// Exceptions    none: every member is noexcept.
/// Threads       set() from any thread, one awaiter at a time. The consumer sees what was done before each
///               set() that it has used up, and may destroy the event once no set() is still to begin.
/// Cost          8 bytes; no allocation, no lock; one atomic operation to set, one to wait.
class single_consumer_async_auto_reset_event {
 public:
  explicit single_consumer_async_auto_reset_event(bool initially_set = false) noexcept
      : state_(initially_set ? this : nullptr) {}
  single_consumer_async_auto_reset_event(const single_consumer_async_auto_reset_event&) = delete;
  single_consumer_async_auto_reset_event& operator=(const single_consumer_async_auto_reset_event&) = delete;
  /// Requires: nobody waits.
  ~single_consumer_async_auto_reset_event() {
    CORACLE_CHECK(!is_waiter(state_.load(detail::memory_order_relaxed)),
                  "a single_consumer_async_auto_reset_event was destroyed while a coroutine waits for it");
  }

  /// Lets the consumer through, now or when it comes.
  void set() noexcept;

  class wait_operation;
  /// Requires: no other coroutine awaits it meanwhile.
  wait_operation operator co_await() noexcept;

 private:
  bool is_waiter(const void* state) const noexcept { return state != nullptr && state != this; }
  bool try_consume() noexcept;
  bool enqueue(waiter& self) noexcept;
  void withdraw(waiter& self) noexcept {
    void* expected = &self;
    state_.compare_exchange_strong(expected, nullptr, detail::memory_order_relaxed); /*C5*/
  }

  // state_ is null: not set, nobody waits; this: set; else the waiter. Only the consumer takes it from set to
  // null. The waiter's fields belong to its coroutine until C3 publishes them, then to the set() that takes
  // it.
  //   [C1] null or set -> set  acq_rel  publish the setter's writes, even if set already: the   pairs with C4
  //                                     consumer that uses up the first set() must see them
  //   [C2] waiter -> null      acq_rel  read the waiter's fields                                pairs with C3
  //   [C3] null -> waiter      release  publish its fields                                      pairs with C2
  //   [C4] set -> null         acquire  see what all setters wrote                              pairs with C1
  //   [C5] waiter -> null      relaxed  nobody has looked at its fields
  detail::atomic<void*> state_;
};

class [[nodiscard(
    "an event does nothing until it is awaited")]] single_consumer_async_auto_reset_event::wait_operation
    : waiter {
 public:
  explicit wait_operation(single_consumer_async_auto_reset_event& event) noexcept : event_(event) {}
  wait_operation(const wait_operation&) = delete;
  wait_operation& operator=(const wait_operation&) = delete;
  /// Still has the handle where the coroutine is destroyed while it waits.
  ~wait_operation() {
    if (handle) event_.withdraw(*this);
  }
  bool await_ready() const noexcept { return event_.try_consume(); }
  CORACLE_NOINLINE_SUSPEND() bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspend(suspended);
    return event_.enqueue(*this);
  }
  void await_resume() noexcept { handle = nullptr; }

 private:
  single_consumer_async_auto_reset_event& event_;
};
inline single_consumer_async_auto_reset_event::wait_operation
single_consumer_async_auto_reset_event::operator co_await() noexcept {
  return wait_operation{*this};
}

inline void single_consumer_async_auto_reset_event::set() noexcept {
  void* seen = state_.load(detail::memory_order_relaxed);
  while (!state_.compare_exchange_weak(seen, is_waiter(seen) ? nullptr : this,
                                       detail::memory_order_acq_rel, /*C1, C2*/
                                       detail::memory_order_relaxed)) {
  }
  if (is_waiter(seen)) static_cast<waiter*>(seen)->wake();
}

inline bool single_consumer_async_auto_reset_event::try_consume() noexcept {
  if (state_.load(detail::memory_order_relaxed) != this) return false;
  state_.exchange(nullptr, detail::memory_order_acquire); /*C4*/
  return true;
}

inline bool single_consumer_async_auto_reset_event::enqueue(waiter& self) noexcept {
  void* seen = nullptr;
  if (state_.compare_exchange_strong(seen, &self, detail::memory_order_release, /*C3*/
                                     detail::memory_order_relaxed)) {
    return true;
  }
  CORACLE_CHECK(seen == this,
                "two coroutines await a single_consumer_async_auto_reset_event at the same time");
  state_.exchange(nullptr, detail::memory_order_acquire); /*C4*/
  return false;
}
}  // namespace coracle
