// coracle/sync/async_barrier.hpp -- where a fixed number of coroutines meet, again and again.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/detail/atomic.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace coracle {
namespace detail {
struct nothing_to_complete {
  void operator()() const noexcept {}
};

/// The part of an async_barrier that does not depend on its completion function.
class barrier_state {
 public:
  static constexpr std::uint64_t max = 0xffff'ffff;

  explicit barrier_state(std::uint64_t expected) noexcept : counts_(both(expected)) {}
  barrier_state(const barrier_state&) = delete;
  barrier_state& operator=(const barrier_state&) = delete;
  ~barrier_state() {
    CORACLE_CHECK(!arrived_.load(memory_order_relaxed),
                  "an async_barrier was destroyed while coroutines wait at it");
  }

  void push(waiter& self) noexcept {
    resumption* newest = arrived_.load(memory_order_relaxed);
    do {
      self.next = newest;
    } while (!arrived_.compare_exchange_weak(newest, &self, memory_order_relaxed)); /*B1*/
  }
  /// Both: true if that was the last one that was missing.
  bool one_arrived() noexcept { return take(pending_one); }
  bool one_dropped() noexcept { return take(pending_one + expected_one); }
  /// Begins the next phase and gives the waiters of this one, oldest first. Only the last to arrive calls it.
  waiter* next_phase() noexcept {
    resumption* const newest = arrived_.load(memory_order_relaxed);                      /*B3*/
    arrived_.store(nullptr, memory_order_relaxed);                                       /*B3*/
    counts_.store(both(counts_.load(memory_order_relaxed) >> 32), memory_order_relaxed); /*B4*/
    return oldest_first(static_cast<waiter*>(newest));
  }

 private:
  static constexpr std::uint64_t pending_one = 1, expected_one = std::uint64_t{1} << 32;
  static constexpr std::uint64_t both(std::uint64_t n) noexcept { return n * (pending_one + expected_one); }
  bool take(std::uint64_t what) noexcept {
    const std::uint64_t pending = counts_.fetch_sub(what, memory_order_acq_rel) & max; /*B2*/
    CORACLE_CHECK(pending != 0, "more coroutines arrived at an async_barrier than it expects");
    return pending == 1;
  }

  // counts_ holds how many are expected in a phase (high half) and how many of them are still to come (low
  // half). arrived_ is a stack of those that came and wait. Each is pushed before it is counted and touches
  // nothing afterwards: its fields belong to the last to arrive, who finds all of them in the stack. From the
  // last B2 of a phase until the first wake-up nobody else may arrive, so both words belong to the last one.
  //   [B1] push to arrived_     relaxed  published by the B2 that follows
  //   [B2] one less to come     acq_rel  publish the waiter and what it did before; the last    pairs with B2
  //                                      one sees that of all
  //   [B3] take arrived_        relaxed  seen through B2
  //   [B4] start the next phase relaxed  published by the wake-ups: who arrives next comes after them
  atomic<std::uint64_t> counts_;
  atomic<resumption*> arrived_{nullptr};
};
}  // namespace detail

/// Coroutines wait at it until all that are expected have arrived; then it is closed for the next phase.
///
///     coracle::async_barrier round{3, [&]() noexcept { publish(results); }};
///     for (int i = 0; i != rounds; ++i) { work(i); co_await round.arrive_and_wait(); }  // three of these
///
/// Prefer async_latch where they meet once only, when_all where one coroutine waits for the others.
/// The completion function runs once a phase: after all have arrived, before anybody goes on, inside the last
/// arrive_and_wait() or arrive_and_drop(), on its thread. It sees what all did before they arrived, and all
/// see what it did. It must not throw, nor let anybody arrive here.
/// Order         first come, first woken. The last to arrive does not suspend: it wakes the others, then goes
///               on.
/// Resumes on    the executor on which the waiter suspended; outside any, inside the last arrival, on its
///               thread.
/// Cancellation  a stop request does not end the wait. The waiting coroutine must not be destroyed.
/// Exceptions    none: every member is noexcept.
/// Threads       all members are thread-safe. It may be destroyed when all who waited have been woken.
/// Cost          16 bytes and the completion function; no allocation, no lock; two atomic operations to
///               arrive.
template <class Completion = detail::nothing_to_complete>
class async_barrier {
  static_assert(std::is_nothrow_invocable_v<Completion&>,
                "the completion function of an async_barrier takes no argument and must not throw, since the "
                "others would wait for ever: mark it noexcept");

 public:
  /// Requires: 0 <= expected <= max().
  explicit async_barrier(std::ptrdiff_t expected, Completion completion = Completion()) noexcept(
      std::is_nothrow_move_constructible_v<Completion>)
      : state_(static_cast<std::uint64_t>(expected)), completion_(std::move(completion)) {
    CORACLE_CHECK(expected >= 0 && expected <= max(), "an async_barrier cannot expect that many coroutines");
  }

  [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept {
    return static_cast<std::ptrdiff_t>(detail::barrier_state::max);
  }

  class arrive_operation;
  /// Awaitable of nothing: arrives, and waits until all others have. Requires: the caller is expected and has
  /// not arrived yet in this phase.
  arrive_operation arrive_and_wait() noexcept { return arrive_operation{*this}; }
  /// Arrives without waiting, and is not expected any more. Requires: as arrive_and_wait().
  void arrive_and_drop() noexcept {
    if (state_.one_dropped()) detail::wake_all(complete());
  }

 private:
  bool arrive(waiter& self) noexcept;
  waiter* complete() noexcept {
    completion_();
    return state_.next_phase();
  }

  detail::barrier_state state_;
  [[no_unique_address]] Completion completion_;
};

template <class Completion>
class [[nodiscard("the coroutine has not arrived at the barrier until this is awaited")]] async_barrier<
    Completion>::arrive_operation : waiter {
 public:
  explicit arrive_operation(async_barrier& barrier) noexcept : barrier_(barrier) {}
  bool await_ready() const noexcept { return false; }
  CORACLE_NOINLINE_SUSPEND() bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspend(suspended);
    return barrier_.arrive(*this);
  }
  void await_resume() const noexcept {}

 private:
  async_barrier& barrier_;
};

/// True: `self` waits for the others. False: it was the last, and has woken them.
template <class Completion>
bool async_barrier<Completion>::arrive(waiter& self) noexcept {
  state_.push(self);
  if (!state_.one_arrived()) return true;
  for (waiter* each = complete(); each;) {
    waiter* const next = static_cast<waiter*>(each->next);
    if (each != &self) each->wake();
    each = next;
  }
  return false;
}
}  // namespace coracle
