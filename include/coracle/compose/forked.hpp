// coracle/compose/forked.hpp -- a child that runs in parallel with its parent until joined.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/forked_child.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <exception>

namespace coracle {
/// A child that runs in parallel with its parent, for divide-and-conquer work: the cheapest way to use more
/// than one thread.
///
///     coracle::task<long> fibonacci(int n) {
///       if (n < 2) co_return n;
///       coracle::forked left{fibonacci(n - 1)};
///       co_await left.fork();                          // runs here; an idle thread takes what follows
///       const long right = co_await fibonacci(n - 2);
///       co_return right + co_await left.join();
///     }
///
/// Prefer when_all() where the children are known beforehand: it divides them among the threads of a pool in
/// the same way, and it stops the others when one fails.
/// Order         fork() runs the child on this thread, at once. On a pool, a thread that is idle meanwhile
///               takes the oldest parent that waits for such a child, and continues it; otherwise the parent
///               continues here when the child ends or waits. On another executor the parent goes to the end
///               of the queue; outside any executor, fork() is a plain await, and continues when the child
///               has ended.
/// Resumes on    fork() and join(): the executor on which they were awaited.
/// Cancellation  the child inherits the environment. join() waits for it in any case.
/// Exceptions    join(): the child's.
/// Not joined    if the parent leaves the scope of the child before join(), by an exception or a return, its
///               thread blocks there until the child ends, and runs other work of the pool meanwhile. This is
///               a deadlock if the child waits for its parent; if the work run meanwhile is an ancestor that
///               also leaves before join(), since it then waits on top of this wait; and on an executor other
///               than a pool, such as a strand, an io_service or a run_loop, if the child waits for anything,
///               since it would have to resume on the blocked thread. Where that can happen, put throwing()
///               around what is awaited between, as the coroutine may otherwise be destroyed there when it is
///               stopped; keep the exception (std::current_exception()), leave the handler, which cannot
///               co_await, join, and rethrow it; or use when_all(), which never blocks. A checked build
///               reports such a wait on stderr after a second. The child's exception is dropped if the parent
///               leaves by an exception; otherwise the parent has a bug, which ends a checked build.
///               Destroying a parent that is suspended between fork() and join() blocks in the same way,
///               until another thread has resumed the child.
/// Threads       fork() once, then join() once, both by the coroutine in whose frame it lives.
/// Cost          no allocation besides the child's frame. On a pool no atomic read-modify-write and no fence,
///               unless another thread has taken the rest, or what was in this thread's queue before it.
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
#if CORACLE_CHECKS()
  ~forked() {
    child_.point().end();
    const bool unwinds = std::uncaught_exceptions() != 0 || detail::this_thread().stopping != 0;
    if (child_.work().keeps_an_error() && !unwinds) tell_unseen_error();
  }
#endif

  /// Awaitable of nothing: starts the child. Requires: not called before.
  fork_operation fork() noexcept { return fork_operation{child_}; }
  /// Awaitable of the child's result. Requires: forked, and not joined.
  join_operation join() noexcept { return join_operation{child_}; }

 private:
#if CORACLE_CHECKS()
  void tell_unseen_error() noexcept {
    CORACLE_TRY() { static_cast<void>(child_.await_resume()); }
    CORACLE_CATCH(const operation_cancelled&, cancelled) {}  // on request: no error is lost
    CORACLE_CATCH_ALL() {
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
