// coracle/compose/detail/fork_point.hpp -- synchronises the end of a forked child with its parent.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/base/park.hpp>
#include <coracle/core/detail/fork_queue.hpp>
#include <coracle/core/executor.hpp>
#include <cstdint>

namespace coracle::detail {
/// Synchronises the end of a forked child with its parent.
//
// On a pool, the parent's continuation is pushed onto the queue of the thread on which it forks the child. If
// the end of the child takes it back, no other thread has touched this. Otherwise an idle thread has taken
// it, and the two meet at state_:
//   runs_before_parent  the continuation is in the queue of the child's thread, or was stolen from there;
//                       also the state before fork()
//   runs_beside_parent  the continuation was posted, on another executor
//   runs_alone          there is no executor: the child's end continues the parent
//   joins               the parent waits in join()
//   blocks              the parent waits in the destructor, blocking its thread
//   over                the child has ended
//
//   [J1] -> over    relaxed  the parent has not run meanwhile, and does so next on this thread
//   [J2] -> over    acq_rel  publish the result; see the waiting parent          pairs with J3, J4
//   [J3] -> joins   acq_rel  publish the parent; on finding `over` see the result  pairs with J2
//   [J4] load       acquire  on finding `over` see the result                    pairs with J2
//   [J5] -> the parent's place  relaxed  the parent's own, before the child runs
//   [J6] -> blocks  relaxed  the child's end unparks this thread; J4 follows
//   [J7] load       relaxed  the parent's place, which the queue then decides; whether J6 is of use
class fork_point : waiter {
 public:
  /// Waits for a running child: an exception leaves the parent before it has joined the child.
  ~fork_point() { end(); }
  void end() noexcept {
    if (!child_is_over()) [[unlikely]]
      end_before_child();
  }
  [[nodiscard]] bool is_forked() const noexcept { return std::coroutine_handle<>(handle) != nullptr; }

  /// Called before the child is started: from here on an idle thread may take its parent.
  CORACLE_ALWAYS_INLINE() void offer(std::coroutine_handle<> parent) noexcept {
    handle = parent;
    thread_state& thread = this_thread();
    if (thread.may_fork()) [[likely]] {
      thread.forks->push(*this);  // state_ says so already
      thread.forks->note_start();
    } else if (thread.current) {
      state_.store(runs_beside_parent, memory_order_relaxed); /*J5*/
      thread.current->post(*this);
    } else {
      state_.store(runs_alone, memory_order_relaxed); /*J5*/
    }
  }

  [[nodiscard]] bool child_is_over() const noexcept {
    return state_.load(memory_order_acquire) == over; /*J4*/
  }
  /// Returns false if the child has ended meanwhile.
  bool wait(std::coroutine_handle<> parent) noexcept {
    suspend(parent);
    return state_.exchange(joins, memory_order_acq_rel) != over; /*J3*/
  }

  // ---- called at the child's end ----

  /// The short path: returns true if it has ended the child, false if end_child() must be called.
  CORACLE_ALWAYS_INLINE() bool end_child_fast() noexcept {
    const std::uint32_t now = state_.load(memory_order_relaxed); /*J7*/
    if (now == runs_before_parent) [[likely]] {
      const thread_state& thread = this_thread();
      if (!thread.may_fork() || thread.forks->take_back_fast(*this) == fork_queue::nowhere) [[unlikely]]
        return false;
    } else if (now != runs_alone) {
      return false;
    }
    state_.store(over, memory_order_relaxed); /*J1*/
    return true;
  }
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> go_on() noexcept { return transfer_to(handle); }
  /// Returns the coroutine to resume next.
  CORACLE_TRANSFER_ABI()
  CORACLE_COLD()
  std::coroutine_handle<> end_child() noexcept {
    if (has_parent_back()) {
      state_.store(over, memory_order_relaxed); /*J1*/
      return go_on();
    }
    const std::uint32_t found = state_.exchange(over, memory_order_acq_rel); /*J2*/
    if (found == blocks) [[unlikely]]
      unpark(&state_, 1);
    if (found != joins) return std::noop_coroutine();
    if (home == current_executor()) return go_on();
    wake();
    return std::noop_coroutine();
  }

 private:
  [[nodiscard]] bool has_parent_back() const noexcept {
    const thread_state& thread = this_thread();
    return state_.load(memory_order_relaxed) == runs_before_parent && thread.may_fork() && /*J7*/
           thread.forks->take_back(*this);
  }
  CORACLE_COLD() void end_before_child() noexcept {
    if (is_forked() && state_.load(memory_order_relaxed) < over) wait_for_child(); /*J7*/
  }
  /// Runs other work of the pool meanwhile, since the child may wait for it.
  CORACLE_COLD() void wait_for_child() noexcept {
    constexpr timespec a_moment{0, 100'000};
    std::uint32_t seen = state_.load(memory_order_relaxed);                               /*J7*/
    if (seen != over) state_.compare_exchange_strong(seen, blocks, memory_order_relaxed); /*J6*/
    fork_queue* const forks = this_thread().forks;
    const fork_queue::level mark = forks ? forks->filled() : fork_queue::level{};
    int moments = 0;
    while (!child_is_over()) {
      if (forks && forks->run_other_work(mark)) continue;
      park(state_, blocks, is_modelled ? nullptr : &a_moment);
      if (CORACLE_CHECKS() && !is_modelled && ++moments == 10'000) tell_that_it_blocks();
    }
  }

  CORACLE_COLD() static void tell_that_it_blocks() noexcept {
    tell_deadlock(
        "a coroutine has left the scope of a forked child without joining it, by an exception or a return, "
        "and has blocked the thread for a second: a deadlock, if the child must run there");
  }

  enum : std::uint32_t { runs_before_parent, runs_beside_parent, runs_alone, over, joins, blocks };
  atomic<std::uint32_t> state_{runs_before_parent};
  // Makes the zero-initialised part 32 bytes, which compilers write at once.
  [[maybe_unused]] std::uint32_t unused_ = 0;
};
}  // namespace coracle::detail
