// coracle/sync/async_auto_reset_event.hpp -- a gate that closes behind each one it lets through.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <coracle/core/executor.hpp>
#include <coracle/detail/atomic.hpp>
#include <cstdint>

namespace coracle {
/// Each set() lets one waiter through; without a waiter it is remembered, once.
///
///     coracle::async_auto_reset_event work_added;
///     for (;;) { co_await work_added; do_all_work(); }
///
/// Order         waiters are woken first come, first served.
/// Resumes on    the executor on which the waiter suspended; outside any, inside a set() or inside another
///               waiter's await, on the thread that is just carrying it out.
/// Cancellation  a stop request does not end the wait; a set() is never lost.
/// Exceptions    none: every member is noexcept.
/// Threads       all members are thread-safe; at most 2^32 - 1 waiters.
/// Cost          24 bytes; no allocation, no lock.
class async_auto_reset_event {
 public:
  explicit async_auto_reset_event(bool initially_set = false) noexcept
      : state_(initially_set ? one_set : 0) {}
  async_auto_reset_event(const async_auto_reset_event&) = delete;
  async_auto_reset_event& operator=(const async_auto_reset_event&) = delete;
  /// Requires: nobody waits.
  ~async_auto_reset_event() {
    CORACLE_CHECK(waits_of(state_.load(detail::memory_order_relaxed)) == 0,
                  "an async_auto_reset_event was destroyed while coroutines wait for it");
  }

  /// Lets one waiter through, now or when it comes. No effect if set already and nobody waits.
  void set() noexcept;
  /// Forgets a set() that nobody has used. No effect if not set.
  void reset() noexcept;

  class [[nodiscard("an event does nothing until it is awaited")]] wait_operation : waiter {
   public:
    explicit wait_operation(async_auto_reset_event& event) noexcept : event_(event) {}
    bool await_ready() const noexcept { return event_.try_consume(); }
    CORACLE_NOINLINE_SUSPEND() bool await_suspend(std::coroutine_handle<> suspended) noexcept {
      return event_.enqueue(*this, suspended);
    }
    void await_resume() const noexcept {}

   private:
    friend async_auto_reset_event;
    async_auto_reset_event& event_;
    detail::atomic<bool> met_{false};
  };
  wait_operation operator co_await() noexcept { return wait_operation{*this}; }

 private:
  bool try_consume() noexcept;
  bool enqueue(wait_operation& self, std::coroutine_handle<> suspended) noexcept;
  waiter* match() noexcept;
  static void release(waiter* first) noexcept;

  // state_ counts sets (low half) and waiters (high half) that are not matched with one another yet. Whoever
  // makes both non-zero becomes the matcher; until it has taken min(sets, waiters) down to zero nobody else
  // does, so queue_, and the taking of arrived_, belong to one thread at a time. state_ never counts more
  // waiters than arrived_ and queue_ hold. A waiter can be matched before its own await_suspend has counted
  // it; so its matcher and its await_suspend meet in met_, and the second of them lets it go on.
  //   [A1] sets + 1 or as is  acq_rel  publish the setter's writes; as matcher, take over queue_
  //   [A2] waiters + 1        acq_rel  as matcher, take over queue_ and see the setters' writes
  //   [A3] both - matched     acq_rel  hand queue_ to the next matcher                   pairs with A1, A2
  //   [A4] sets - 1           acquire  see the writes of those who set                       pairs with A1
  //   [A5] push to arrived_   release  publish the waiter's fields                           pairs with A6
  //   [A6] take arrived_      acquire  read those fields                                     pairs with A5
  //   [A7] meet               acq_rel  the second sees all that the first did before
  //   [A8] read both          acquire  arrived_ holds every waiter that is counted        pairs with A2
  static constexpr std::uint64_t one_set = 1, one_wait = std::uint64_t{1} << 32;
  static constexpr std::uint64_t sets_of(std::uint64_t state) noexcept { return state & (one_wait - 1); }
  static constexpr std::uint64_t waits_of(std::uint64_t state) noexcept { return state >> 32; }

  detail::atomic<std::uint64_t> state_;
  detail::atomic<waiter*> arrived_{nullptr};
  detail::plain<waiter*> queue_ = nullptr;
};

inline void async_auto_reset_event::set() noexcept {
  std::uint64_t seen = state_.load(detail::memory_order_relaxed);
  while (!state_.compare_exchange_weak(seen, sets_of(seen) > waits_of(seen) ? seen : seen + one_set,
                                       detail::memory_order_acq_rel, /*A1*/
                                       detail::memory_order_relaxed)) {
  }
  if (sets_of(seen) == 0 && waits_of(seen) != 0) release(match());
}

inline void async_auto_reset_event::reset() noexcept { static_cast<void>(try_consume()); }

inline bool async_auto_reset_event::try_consume() noexcept {
  std::uint64_t seen = state_.load(detail::memory_order_relaxed);
  while (sets_of(seen) > waits_of(seen)) {
    if (state_.compare_exchange_weak(seen, seen - one_set, detail::memory_order_acquire, /*A4*/
                                     detail::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

inline bool async_auto_reset_event::enqueue(wait_operation& self,
                                            std::coroutine_handle<> suspended) noexcept {
  self.suspend(suspended);
  waiter* newest = arrived_.load(detail::memory_order_relaxed);
  do {
    self.next = newest;
  } while (!arrived_.compare_exchange_weak(newest, &self, detail::memory_order_release, /*A5*/
                                           detail::memory_order_relaxed));
  const std::uint64_t seen = state_.fetch_add(one_wait, detail::memory_order_acq_rel); /*A2*/
  if (waits_of(seen) == 0 && sets_of(seen) != 0) release(match());
  return !self.met_.exchange(true, detail::memory_order_acq_rel); /*A7*/
}

/// Takes as many waiters as there are sets, oldest first. Only the matcher calls it.
inline waiter* async_auto_reset_event::match() noexcept {
  waiter* first = nullptr;
  resumption* last = nullptr;
  std::uint64_t state = state_.load(detail::memory_order_acquire); /*A8*/
  for (;;) {
    const std::uint64_t matched = std::min(sets_of(state), waits_of(state));
    if (matched == 0) return first;
    for (std::uint64_t i = 0; i != matched; ++i) {
      if (!queue_) {
        queue_ = detail::oldest_first(arrived_.exchange(nullptr, detail::memory_order_acquire)); /*A6*/
      }
      waiter* const oldest = queue_;
      queue_ = static_cast<waiter*>(oldest->next);
      oldest->next = nullptr;
      if (last) {
        last->next = oldest;
      } else {
        first = oldest;
      }
      last = oldest;
    }
    const std::uint64_t both = matched * (one_set + one_wait);
    state = state_.fetch_sub(both, detail::memory_order_acq_rel) - both; /*A3*/
  }
}

inline void async_auto_reset_event::release(waiter* first) noexcept {
  while (first) {
    waiter* const next = static_cast<waiter*>(first->next);
    if (static_cast<wait_operation*>(first)->met_.exchange(true, detail::memory_order_acq_rel)) { /*A7*/
      first->wake();
    }
    first = next;
  }
}
}  // namespace coracle
