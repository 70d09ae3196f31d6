// coracle/compose/forked.hpp -- a child that runs now, beside what its parent does until it joins it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/callback_frame.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/fork_queue.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/detail/park.hpp>
#include <exception>

namespace coracle {
namespace detail {
/// The promise of a child's continuation.
struct fork_promise {
  [[nodiscard]] const environment* get_environment() const noexcept { return inherited; }
  const environment* inherited = nullptr;
};

/// A child's end meets what its parent does meanwhile.
//
// Until the child is over its parent's continuation is in the queue of the thread on which it was forked, or it has
// been taken from there and runs beside the child. If the child's end takes it back, nobody else has touched this. If
// not, both meet at state_: the parent leaves `joins` there once it waits, the child `over`.
//   [J1] -> over    relaxed  the parent has not run meanwhile, and does so next on this thread
//   [J2] -> over    acq_rel  publish the result; see who waits                   pairs with J3, J4
//   [J3] -> joins   acq_rel  publish who waits; on finding `over` see the result pairs with J2
//   [J4] load       acquire  on finding `over` see the result                    pairs with J2
//   [J5] the parent's own, before the child runs   relaxed
//   [J6] -> blocks  relaxed  the child's end unparks this thread; J4 follows
class fork_point : public basic_callback_frame<fork_promise>, waiter {
 public:
  fork_point() noexcept : basic_callback_frame(&child_is_over) {}
  /// A child that runs is waited for: an exception leaves the parent before it has joined it.
  ~fork_point() { end(); }
  void end() noexcept {
    if (state_.load(memory_order_acquire) == runs) [[unlikely]] /*J4*/
      wait_for_child();
  }
  [[nodiscard]] bool is_forked() const noexcept { return state_.load(memory_order_relaxed) != idle; } /*J5*/

  /// Before the child is started: who is idle may take its parent from here on.
  CORACLE_ALWAYS_INLINE() void offer(std::coroutine_handle<> parent, const environment* inherited) noexcept {
    promise().inherited = inherited;
    waiter::handle = parent;
    state_.store(runs, memory_order_relaxed); /*J5*/
    thread_state& thread = this_thread();
    if (thread.forks && thread.forks->place() == thread.current) [[likely]] {
      parent_is_ = in_fork_queue;
      thread.forks->push(*this);
    } else if (thread.current) {
      parent_is_ = posted;
      thread.current->post(*this);
    }
  }
  std::coroutine_handle<fork_promise> child_continues() noexcept { return basic_callback_frame::handle(); }

  [[nodiscard]] bool child_is_over() const noexcept {
    return state_.load(memory_order_acquire) == over; /*J4*/
  }
  /// False: it is over meanwhile.
  bool wait(std::coroutine_handle<> parent) noexcept {
    suspend(parent);
    return state_.exchange(joins, memory_order_acq_rel) != over; /*J3*/
  }

 private:
  CORACLE_TRANSFER_ABI() static void child_is_over(basic_callback_frame* self) {
    auto& mine = static_cast<fork_point&>(*self);
    if (mine.has_parent_back()) [[likely]] {
      mine.state_.store(over, memory_order_relaxed); /*J1*/
    } else {
      const std::uint32_t found = mine.state_.exchange(over, memory_order_acq_rel); /*J2*/
      if (found == blocks) [[unlikely]]
        unpark(&mine.state_, 1);
      if (found != joins) return;
      if (mine.home != current_executor()) return mine.wake();
    }
    const std::coroutine_handle<> parent = transfer_to(mine.waiter::handle);
    CORACLE_RETURN_TO(self, parent);
  }
  [[nodiscard]] bool has_parent_back() const noexcept {
    if (parent_is_ != in_fork_queue) [[unlikely]]
      return parent_is_ == waiting;
    const thread_state& thread = this_thread();
    return thread.forks && thread.forks->place() == thread.current && thread.forks->take_back(*this);
  }
  /// Runs other work of the pool meanwhile: the child may wait for it.
  CORACLE_COLD() void wait_for_child() noexcept {
    constexpr timespec a_moment{0, 100'000};
    std::uint32_t seen = runs;
    state_.compare_exchange_strong(seen, blocks, memory_order_relaxed); /*J6*/
    fork_queue* const forks = this_thread().forks;
    const fork_queue::level mark = forks ? forks->filled() : fork_queue::level{};
    while (!child_is_over()) {
      if (!forks || !forks->run_other_work(mark)) park(state_, blocks, is_modelled ? nullptr : &a_moment);
    }
  }

  static constexpr std::uint32_t idle = 0, runs = 1, over = 2, joins = 3, blocks = 4;
  atomic<std::uint32_t> state_{idle};
  enum : std::uint8_t { waiting, in_fork_queue, posted } parent_is_ = waiting;  // while the child begins
};
}  // namespace detail

/// A child that is started beside its parent, for work that divides itself: the cheapest way to more than one thread.
///
///     coracle::task<long> fibonacci(int n) {
///       if (n < 2) co_return n;
///       coracle::forked left{fibonacci(n - 1)};
///       co_await left.fork();                          // runs here; who is idle takes what follows
///       const long right = co_await fibonacci(n - 2);
///       co_return right + co_await left.join();
///     }
///
/// Prefer when_all() where the children are known beforehand: it divides them among the threads of a pool in the same
/// way, and it stops the others when one fails.
/// Order         fork() runs the child on this thread, at once. On a pool, a thread that is idle meanwhile takes the
///               oldest of what waits for such a child, and goes on with it; if none does, it goes on here, when the
///               child ends or waits. On another executor it goes to the end of the queue; outside any, fork() is an
///               await, and goes on when the child has ended.
/// Resumes on    fork() and join(): the executor on which they were awaited.
/// Cancellation  the child inherits the environment. join() waits for it, whatever happens.
/// Exceptions    join(): the child's. If an exception leaves the parent before join(), its thread waits for the child, and
///               runs what is posted to the pool meanwhile; what the child throws is then dropped. So a child must not
///               wait for its parent where that may throw. The same where a parent that is suspended between fork()
///               and join() is destroyed: it waits until somebody has resumed the child. A parent that goes on to its
///               end without join(), though its child has failed, has a bug: a build with checks stops there.
/// Threads       fork() once, then join() once, both by the coroutine in whose frame it lives.
/// Cost          no allocation beside the child's frame. On a pool no atomic read-modify-write and no fence, but where
///               another thread has taken the rest, or what was in this thread's queue before it.
/// Source        continuation stealing: M. Frigo, C. Leiserson, K. Randall, "The implementation of the Cilk-5
///               multithreaded language", PLDI 1998.
template <class T>
class [[nodiscard("a child runs only after co_await child.fork()")]] forked {
  class fork_operation;
  class join_operation;

 public:
  explicit forked(task<T>&& work) noexcept : work_(std::move(work)) {}
  explicit forked(const task<T>&) {
    static_assert(
        !detail::is_awaitable<task<T>>,
        "forked takes over a task: pass the call that returns it, or std::move of one that has a name");
  }
  forked(const forked&) = delete;
  forked& operator=(const forked&) = delete;
#if CORACLE_CHECKS() && CORACLE_EXCEPTIONS()
  ~forked() {
    point_.end();
    if (work_.keeps_an_error() && std::uncaught_exceptions() == 0) tell_unseen_error();
  }
#endif

  /// Awaitable of nothing: starts the child. Requires: not called before.
  fork_operation fork() noexcept { return fork_operation{*this}; }
  /// Awaitable of the child's result. Requires: forked, and not joined.
  join_operation join() noexcept { return join_operation{*this}; }

 private:
#if CORACLE_CHECKS() && CORACLE_EXCEPTIONS()
  void tell_unseen_error() noexcept {
    try {
      static_cast<void>(std::move(work_).operator co_await().await_resume());
    } catch (const operation_cancelled&) {
      // Whoever has stopped the child knows.
    } catch (...) {
      detail::fail("a forked child has failed, and its parent has not joined it: the error would be lost");
    }
  }
#endif
  task<T> work_;
  detail::fork_point point_;  // waits for the child before that is destroyed
};
template <class T>
forked(task<T>) -> forked<T>;

template <class T>
class [[nodiscard("nothing is forked until this is awaited")]] forked<T>::fork_operation {
 public:
  explicit fork_operation(forked& child) noexcept : child_(child) {
    CORACLE_CHECK(!child.point_.is_forked(), "a child was forked twice");
  }
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> await_suspend(
      std::coroutine_handle<Promise> parent) noexcept {
    auto child = std::move(child_.work_).operator co_await();
    detail::fork_point& point = child_.point_;
    point.offer(parent, detail::environment_of(parent));
    return child.await_suspend(point.child_continues());
  }
  void await_resume() const noexcept {}

 private:
  forked& child_;
};
template <class T>
class [[nodiscard("nothing is joined until this is awaited")]] forked<T>::join_operation {
 public:
  explicit join_operation(forked& child) noexcept : child_(child) {
    CORACLE_CHECK(child.point_.is_forked(), "a child was joined that had not been forked");
  }
  bool await_ready() const noexcept { return child_.point_.child_is_over(); }
  CORACLE_NOINLINE_SUSPEND() bool await_suspend(std::coroutine_handle<> parent) noexcept {
    return child_.point_.wait(parent);
  }
  T await_resume() { return std::move(child_.work_).operator co_await().await_resume(); }

 private:
  forked& child_;
};
}  // namespace coracle
