// cppcoro/detail/join_frame.hpp -- many children with one continuation.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/executor.hpp>
#include <cstddef>

namespace cppcoro::detail {
using coracle::detail::callback_frame;

/// Counts children down and then continues the coroutine that awaits them.
//   [W1] count - 1  acq_rel  publish this child's result; the last one sees the results of all
class join_frame : public callback_frame {
 public:
  join_frame() noexcept : callback_frame(&child_ended, nullptr) {}

  /// Called before the first child is started. Then running: `children`, and the coroutine that starts them.
  void begin(std::size_t children, std::coroutine_handle<> parent,
             const coracle::environment* inherited) noexcept {
    promise() = coracle::detail::callback_promise(inherited);
    running_.store(children + 1, coracle::detail::memory_order_relaxed);
    parent_.suspend(parent);
  }
  [[nodiscard]] bool has_begun() const noexcept { return static_cast<bool>(parent_.handle); }
  /// Returns true if that was the last one.
  bool one_ended() noexcept {
    return running_.fetch_sub(1, coracle::detail::memory_order_acq_rel) == 1;
  } /*W1*/

 private:
  static void child_ended(callback_frame* self) {
    auto* const join = static_cast<join_frame*>(self);
    if (!join->one_ended()) return;
    if (join->parent_.home == coracle::current_executor()) {
      coracle::detail::resume_on_return(join->parent_.handle);
    } else {
      join->parent_.wake();
    }
  }

  coracle::detail::atomic<std::size_t> running_{0};
  coracle::waiter parent_;
};
}  // namespace cppcoro::detail
