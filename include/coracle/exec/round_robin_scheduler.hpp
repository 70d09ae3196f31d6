// coracle/exec/round_robin_scheduler.hpp -- coroutines that take turns on one thread.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/transfer.hpp>
#include <cstddef>

namespace coracle {
/// A ring of `N` coroutines, one of which runs: `schedule()` transfers to the one that has waited longest. It
/// hides memory latency: prefetch, let the others run, continue (Nishanov, "Nano-coroutines to the Rescue!",
/// CppCon 2018).
///
///     __builtin_prefetch(node);
///     co_await ring.schedule();  // N - 1 others have their turn in between
///     sum += node->value;
///
/// Prefer a run_loop if the number of coroutines is not fixed or other threads post to it.
/// Order         round-robin: `N - 1` coroutines have their turn between two turns of one. Until the ring is
///               full, a coroutine that suspends returns to its resumer; then the ring or drain() runs it.
/// Resumes on    the thread of the coroutine that suspends, or the caller of drain().
/// Cancellation  if stop was requested before, schedule() does not suspend and is cancelled. While it waits:
///               it is cancelled in its turn; by an exception if there are any.
/// Exceptions    schedule(): operation_cancelled.
/// Threads       one at a time.
/// Cost          a transfer, one load and one store; no allocation, constant stack; `N + 1` words.
template <std::size_t N>
class round_robin_scheduler {
  static_assert(N >= 2, "round_robin_scheduler<N>: turns are taken by at least two coroutines");

 public:
  round_robin_scheduler() noexcept {
    for (std::coroutine_handle<>& each : waiting_) each = nobody_;
  }
  round_robin_scheduler(const round_robin_scheduler&) = delete;
  round_robin_scheduler& operator=(const round_robin_scheduler&) = delete;
  /// Requires: no coroutine waits for its turn.
  ~round_robin_scheduler() {
    for ([[maybe_unused]] const std::coroutine_handle<> each : waiting_) {
      CORACLE_REQUIRE(
          each == nobody_,
          "a round_robin_scheduler was destroyed while coroutines wait for their turn: drain() it");
    }
  }

  class schedule_operation;
  /// Awaitable of nothing: continues when all others in the ring have had their turn.
  schedule_operation schedule() noexcept { return schedule_operation{*this}; }

  /// Resumes the waiting coroutines in turn, until none is left.
  void drain() {
    for (std::size_t empty = 0; empty != N - 1;) {
      const std::coroutine_handle<> next = exchange_next(nobody_);
      empty = next == nobody_ ? empty + 1 : 0;
      if (empty == 0) resume(next);
    }
  }

 private:
  /// Appends a coroutine, and returns the first one of a full ring, or `nobody_`.
  std::coroutine_handle<> exchange_next(std::coroutine_handle<> last) noexcept {
    const std::coroutine_handle<> first = detail::exchange(waiting_[next_], last);
    next_ = next_ == N - 2 ? 0 : next_ + 1;
    return first;
  }

  std::size_t next_ = 0;
  // Not null, so that schedule() need not check. Not noop_coroutine() each time: clang has one per
  // translation unit.
  const std::coroutine_handle<> nobody_ = std::noop_coroutine();
  std::coroutine_handle<> waiting_[N - 1];
};

template <std::size_t N>
class [[nodiscard(
    "schedule() does nothing until it is awaited")]] round_robin_scheduler<N>::schedule_operation {
 public:
  explicit schedule_operation(round_robin_scheduler& ring) noexcept : ring_(ring) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_INLINE_TRANSFER()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    inherited_ = detail::environment_of(suspended);
    if (stop_requested()) [[unlikely]]
      return end_now(suspended);
    return transfer_to(ring_.exchange_next(suspended));
  }
  void await_resume() const {
    if (stop_requested()) [[unlikely]]
      detail::throw_cancelled(inherited_->stop.reason());
  }
  /// Returns why it was cancelled, or none. Called in place of await_resume() to avoid an exception.
  [[nodiscard]] stop_reason await_cancelled() const noexcept {
    return inherited_ ? inherited_->stop.reason() : stop_reason::none;
  }
  /// So that a program without exceptions ends the task for that reason.
  [[nodiscard]] std::exception_ptr await_failure() const noexcept { return nullptr; }

 private:
  template <class Promise>
  CORACLE_RARE_TRANSFER()
  std::coroutine_handle<> end_now(std::coroutine_handle<Promise> suspended) const noexcept {
    if constexpr (detail::ends_stopped<Promise>)
      static_cast<void>(detail::stopped_parent::note(suspended, inherited_->stop.reason()));
    return transfer_to(suspended);
  }
  bool stop_requested() const noexcept { return inherited_ && inherited_->stop.stop_requested(); }

  round_robin_scheduler& ring_;
  const environment* inherited_ = nullptr;
};
}  // namespace coracle
