// coracle/compose/detail/countdown.hpp -- continues a coroutine once all that it waits for have ended.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/executor.hpp>
#include <cstddef>
#include <new>

namespace coracle::detail {
/// Counts the children of a coroutine, their parent. The thread that ends the last child continues the
/// parent, on the parent's executor.
//
//   [W1] count down  acq_rel  publish the child's writes, or parent_; the last one sees all  pairs with W1
//   [W2] one more    relaxed  orders nothing: the caller keeps the count above zero
//   [W3] store       relaxed  no child has been started yet
//   [W4] load        relaxed  for a check
class countdown {
 public:
  explicit countdown(std::size_t count = 0) noexcept : left_(count) {}
  countdown(const countdown&) = delete;
  countdown& operator=(const countdown&) = delete;
  ~countdown() {}

  /// Suspends `parent` here until `count` children have ended.
  CORACLE_ALWAYS_INLINE() void begin(std::size_t count, std::coroutine_handle<> parent) noexcept {
    suspend(parent);
    left_.store(count, memory_order_relaxed); /*W3*/
  }
  void suspend(std::coroutine_handle<> parent) noexcept {
    ::new (static_cast<void*>(&parent_)) suspended{parent, current_executor()};
  }

  void add_one() noexcept { left_.fetch_add(1, memory_order_relaxed); } /*W2*/
  /// Returns true if those were the last. Otherwise the parent, and this with it, may be gone.
  bool count_down(std::size_t ended) noexcept {
    return left_.fetch_sub(ended, memory_order_acq_rel) == ended; /*W1*/
  }
  /// Requires: not continued yet.
  [[nodiscard]] std::coroutine_handle<> parent() const noexcept { return parent_.handle; }
  [[nodiscard]] std::size_t left() const noexcept { return left_.load(memory_order_relaxed); } /*W4*/

  // ---- after the last child: continues the parent ----

  /// From plain code.
  void continue_parent() noexcept {
    if (parent_.home != current_executor()) {
      wake_parent();
    } else if (!has_to_give_way() || !give_way(parent_as_waiter())) {
      resume_on_return(parent_.handle);
    }
  }
  /// From the end of a child: returns the coroutine to resume.
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> transfer_to_parent() noexcept {
    if (parent_.home != current_executor()) return wake_parent();
    return this_thread().budget.spend_join() ? give_way_before_parent() : transfer_to(parent_.handle);
  }
  /// As above, from the parent's own await, where nothing had to be waited for.
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> transfer_back() noexcept {
    return has_to_give_way() ? give_way_before_parent() : transfer_to(parent_.handle);
  }

 private:
  waiter& parent_as_waiter() noexcept {
    const suspended parent = parent_;
    auto& made = *::new (static_cast<void*>(&posted_)) waiter;
    made.handle = parent.handle;
    made.home = parent.home;
    return made;
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_SAVES_REGISTERS()
  std::coroutine_handle<> wake_parent() noexcept {
    parent_as_waiter().wake();
    return std::noop_coroutine();
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_COLD()
  std::coroutine_handle<> give_way_before_parent() noexcept {
    const std::coroutine_handle<> parent = parent_.handle;
    return give_way(parent_as_waiter()) ? std::noop_coroutine() : transfer_to(parent);
  }

  atomic<std::size_t> left_;
  struct suspended {
    plain<std::coroutine_handle<>> handle;
    plain<executor*> home;
  };
  union {
    suspended parent_;  // not read before it is set
    waiter posted_;
  };
};
}  // namespace coracle::detail
