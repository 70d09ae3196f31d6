// coracle/compose/forked.hpp -- a child that runs now, beside what its parent does until it joins it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/base/park.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/fork_queue.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <exception>

namespace coracle {
namespace detail {
/// A child's end meets what its parent does meanwhile.
//
// Until the child is over its parent's continuation is in the queue of the thread on which it was forked, or it has
// been taken from there and runs beside the child. If the child's end takes it back, nobody else has touched this. If
// not, both meet at state_: the parent leaves `joins` there once it waits, the child `over`.
//   [J1] -> over    relaxed  the parent has not run meanwhile, and does so next on this thread
//   [J2] -> over    acq_rel  publish the result; see who waits                   pairs with J3, J4
//   [J3] -> joins   acq_rel  publish who waits; on finding `over` see the result pairs with J2
//   [J4] load       acquire  on finding `over` see the result                    pairs with J2
//   [J5] -> where the parent is left  relaxed  the parent's own, before the child runs
//   [J6] -> blocks  relaxed  the child's end unparks this thread; J4 follows
//   [J7] a look     relaxed  where the parent was left, which the queue then decides; whether J6 is of use
class fork_point : waiter {
 public:
  /// A child that runs is waited for: an exception leaves the parent before it has joined it.
  ~fork_point() { end(); }
  void end() noexcept {
    if (!child_is_over()) [[unlikely]]
      end_before_child();
  }
  [[nodiscard]] bool is_forked() const noexcept { return std::coroutine_handle<>(handle) != nullptr; }

  /// Before the child is started: who is idle may take its parent from here on.
  CORACLE_ALWAYS_INLINE() void offer(std::coroutine_handle<> parent) noexcept {
    handle = parent;
    thread_state& thread = this_thread();
    if (thread.may_fork()) [[likely]] {
      thread.forks->push(*this);  // state_ says so already
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
  /// Returns false if it has ended meanwhile.
  bool wait(std::coroutine_handle<> parent) noexcept {
    suspend(parent);
    return state_.exchange(joins, memory_order_acq_rel) != over; /*J3*/
  }

  // ---- the child's end ----

  /// The short path: returns true if it has ended the child, false if end_child() must.
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
  /// What goes on then.
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
  /// Runs other work of the pool meanwhile: the child may wait for it.
  CORACLE_COLD() void wait_for_child() noexcept {
    constexpr timespec a_moment{0, 100'000};
    std::uint32_t seen = state_.load(memory_order_relaxed);                               /*J7*/
    if (seen != over) state_.compare_exchange_strong(seen, blocks, memory_order_relaxed); /*J6*/
    fork_queue* const forks = this_thread().forks;
    const fork_queue::level mark = forks ? forks->filled() : fork_queue::level{};
    [[maybe_unused]] int moments = 0;
    while (!child_is_over()) {
      if (forks && forks->run_other_work(mark)) continue;
      park(state_, blocks, is_modelled ? nullptr : &a_moment);
#if CORACLE_CHECKS()
      if (!is_modelled && ++moments == 10'000) tell_that_it_blocks();
#endif
    }
  }

#if CORACLE_CHECKS()
  CORACLE_COLD() static void tell_that_it_blocks() noexcept {
    tell(
        "a coroutine has left the scope of a forked child without joining it, by an exception or a return, "
        "and has blocked the thread for a second: a deadlock, if the child must run there");
  }
#endif

  // Put into the queue of the child's thread; or not forked yet, and then there is no handle.
  static constexpr std::uint32_t runs_before_parent = 0;
  static constexpr std::uint32_t runs_beside_parent = 1;  // which was posted
  static constexpr std::uint32_t runs_alone = 2;
  static constexpr std::uint32_t over = 3, joins = 4, blocks = 5;
  atomic<std::uint32_t> state_{runs_before_parent};
  // So all that is 0 at first is 32 bytes, which compilers write at once.
  [[maybe_unused]] std::uint32_t unused_ = 0;
};

/// A child, and what meets its end. The two derived from it are the awaiters of fork() and join(), which so need none of
/// their own in the parent's frame.
//
// It begins as a coroutine frame does, and so is what the child continues (core/detail/callback_frame.hpp). Where that has the
// destroy function stands the child: nobody destroys what a child continues, and shared_frame::is_one(), which looks there
// while the child runs, is to find anything but its own mark.
template <class T>
class forked_child {
 public:
  explicit forked_child(task<T>&& work) noexcept : work_(std::move(work)) {}
  forked_child(const forked_child&) = delete;
  forked_child& operator=(const forked_child&) = delete;
  fork_point& point() noexcept { return point_; }
  task<T>& work() noexcept { return work_; }
  std::coroutine_handle<> child_continues() noexcept { return std::coroutine_handle<>::from_address(this); }

 private:
  CORACLE_TRANSFER_ABI() static void child_is_over(forked_child* self) {
    if (!self->point_.end_child_fast()) [[unlikely]] {
      CORACLE_MUST_TAIL()
      return child_is_over_at_last(self);
    }
    const std::coroutine_handle<> parent = self->point_.go_on();
    CORACLE_RETURN_TO(self, parent);
  }
  CORACLE_TRANSFER_ABI() CORACLE_COLD() static void child_is_over_at_last(forked_child* self) {
    const std::coroutine_handle<> next = self->point_.end_child();
    CORACLE_RETURN_TO(self, next);
  }
  using function = void(forked_child*);
  function* resume_ = &child_is_over;
  task<T> work_;
  fork_point point_;  // waits for the child before that is destroyed
};
template <class T>
class fork_awaiter : public forked_child<T> {
 public:
  using forked_child<T>::forked_child;
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> await_suspend(
      std::coroutine_handle<Promise> parent) noexcept {
    const auto child = started{this->work()}.body(this->child_continues(), environment_of(parent));
    this->point().offer(parent);  // from here on the parent may run: nothing is read of it
    return transfer_to(child);
  }
  void await_resume() const noexcept {}

 private:
  struct started : awaiter_type_t<task<T>> {
    explicit started(task<T>& work) noexcept : awaiter_type_t<task<T>>(std::move(work).operator co_await()) {}
    /// It continues `continuation` when it ends.
    CORACLE_ALWAYS_INLINE()
    std::coroutine_handle<> body(std::coroutine_handle<> continuation,
                                 const environment* inherited) const noexcept {
      const auto its = this->body_;
      its.promise().set_parent(continuation);
      its.promise().set_environment(inherited);
      return its;
    }
  };
};
template <class T>
class join_awaiter : public fork_awaiter<T> {
 public:
  using fork_awaiter<T>::fork_awaiter;
  bool await_ready() noexcept { return this->point().child_is_over(); }
  CORACLE_NOINLINE_SUSPEND() bool await_suspend(std::coroutine_handle<> parent) noexcept {
    return this->point().wait(parent);
  }
  T await_resume() { return std::move(this->work()).operator co_await().await_resume(); }
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
/// Exceptions    join(): the child's.
/// Not joined    if the parent leaves the child's scope before join(), by an exception or a return, its thread waits there
///               for the child, and runs what is posted to the pool meanwhile. It waits for ever where the child waits for
///               its parent; where what it runs is a parent further up that leaves, too, since that then waits on top of
///               it; and elsewhere than on a pool, as on a strand, an io_service or a run_loop, where the child waits for
///               anything, since it would go on on that thread. Where that may be, keep the exception
///               (std::current_exception()), leave the handler, which cannot co_await, join, and rethrow it; or take
///               when_all(), which never blocks. A build with checks says so on stderr after a second. What the child
///               throws is dropped if the parent leaves by an exception; else the parent has a bug, at which a build with
///               checks stops. The same wait where a parent that is suspended between fork() and join() is destroyed:
///               until somebody has resumed the child.
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
  explicit forked(task<T>&& work) noexcept : child_(std::move(work)) {}
  template <class Other>
  explicit forked(const Other&) : child_(task<T>()) {
    static_assert(
        std::is_void_v<Other>,
        "forked takes over a task: pass the call that returns it, or std::move of one that has a name");
  }
  forked(const forked&) = delete;
  forked& operator=(const forked&) = delete;
#if CORACLE_CHECKS() && CORACLE_EXCEPTIONS()
  ~forked() {
    child_.point().end();
    if (child_.work().keeps_an_error() && std::uncaught_exceptions() == 0) tell_unseen_error();
  }
#endif

  /// Awaitable of nothing: starts the child. Requires: not called before.
  fork_operation fork() noexcept { return fork_operation{child_}; }
  /// Awaitable of the child's result. Requires: forked, and not joined.
  join_operation join() noexcept { return join_operation{child_}; }

 private:
#if CORACLE_CHECKS() && CORACLE_EXCEPTIONS()
  void tell_unseen_error() noexcept {
    try {
      static_cast<void>(child_.await_resume());
    } catch (const operation_cancelled&) {
      // Whoever has stopped the child knows.
    } catch (...) {
      detail::fail("a forked child has failed, and its parent has not joined it: the error would be lost");
    }
  }
#endif
  detail::join_awaiter<T> child_;
};
template <class T>
forked(task<T>) -> forked<T>;
template <class Other>
forked(const Other&) -> forked<void>;

template <class T>
class [[nodiscard("nothing is forked until this is awaited")]] forked<T>::fork_operation {
 public:
  explicit fork_operation(detail::fork_awaiter<T>& child) noexcept : child_(child) {
    CORACLE_CHECK(!child.point().is_forked(), "a child was forked twice: make a forked for each");
  }
  decltype(auto) operator co_await() const noexcept { return detail::in_place(child_); }

 private:
  detail::fork_awaiter<T>& child_;
};
template <class T>
class [[nodiscard("nothing is joined until this is awaited")]] forked<T>::join_operation {
 public:
  explicit join_operation(detail::join_awaiter<T>& child) noexcept : child_(child) {
    CORACLE_CHECK(child.point().is_forked(),
                  "a child was joined that had not been forked: await fork() first");
  }
  decltype(auto) operator co_await() const noexcept { return detail::in_place(child_); }

 private:
  detail::join_awaiter<T>& child_;
};
}  // namespace coracle
