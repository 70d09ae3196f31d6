// coracle/core/meeting_promise.hpp -- the promise part for a coroutine that runs before it is awaited.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/promise_parts.hpp>
#include <cstdint>

namespace coracle::part {

/// Final suspension of a coroutine that may end on any thread, before or after it is awaited: synchronises
/// its end with its only awaiter. The coroutine stays suspended at its end until its owner destroys it.
///
///     struct awaiter {  // of an eager task; body is a std::coroutine_handle<promise_type>
///       bool await_ready() const noexcept { return body.promise().has_ended(); }
///       bool await_suspend(std::coroutine_handle<> parent) const noexcept {
///         return body.promise().set_parent(parent);
///       }
///       T await_resume() const { return body.promise().take(); }
///
/// Prefer part::continues_parent, which needs no atomic, where the awaiter starts the coroutine.
/// Resumes on    the executor on which the awaiter suspended; outside any executor, the thread that ends the
///               body.
/// Cancellation  inherits no environment: it runs before it is awaited.
/// Threads       one awaiter. Destroy it only after it has ended, or while no thread is about to resume it.
/// Cost          one atomic operation to end, and one to await; four pointers.
class meets_parent {
 public:
  /// If it returns true, what the body wrote is visible to the caller.
  [[nodiscard]] bool has_ended() const noexcept {
    return state_.load(detail::memory_order_acquire) == ended; /*P1*/
  }
  /// Has `parent` woken at the end. Returns false if the coroutine has already ended and will wake nothing.
  /// If it returns true, the caller may already be gone.
  bool set_parent(std::coroutine_handle<> parent) noexcept {
    parent_.suspend(parent);
    std::uint32_t seen = running;
    return state_.compare_exchange_strong(seen, awaited, detail::memory_order_release, /*P2*/
                                          detail::memory_order_acquire);               /*P1*/
  }

  detail::ends_by<meets_parent> final_suspend(
      detail::body_end end = detail::body_end::here()) const noexcept {
    return detail::ends_by<meets_parent>(end);
  }

 private:
  friend detail::ends_by<meets_parent>;
  // After the exchange of an unawaited coroutine, and after a wake-up, the frame may be gone.
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> end() noexcept {
    if (state_.exchange(ended, detail::memory_order_acq_rel) == running) return std::noop_coroutine(); /*P3*/
    if (parent_.home == current_executor()) return transfer_to(parent_.handle);
    parent_.wake();
    return std::noop_coroutine();
  }

  // state_ goes from running to ended, or from running over awaited to ended. parent_ belongs to the awaiter
  // until P2, then to P3; the result to the body until P3, then to the awaiter.
  //   [P1] load, or failed P2    acquire  see what the body wrote                       pairs with P3
  //   [P2] running -> awaited    release  publish parent_                               pairs with P3
  //   [P3] any -> ended          acq_rel  publish what the body wrote, read parent_     pairs with P1; P2
  static constexpr std::uint32_t running = 0, awaited = 1, ended = 2;
  detail::atomic<std::uint32_t> state_{running};
  detail::plain<waiter> parent_;
};

}  // namespace coracle::part
