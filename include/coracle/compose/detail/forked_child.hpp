// coracle/compose/detail/forked_child.hpp -- a forked child, and the awaiters of fork() and join().
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/fork_point.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/task.hpp>

namespace coracle::detail {
/// A child, and the fork_point for its end. The two classes derived from it are the awaiters of fork() and
/// join(), so the parent's frame needs no separate awaiters.
//
// It begins as a coroutine frame does, so the child can continue it (core/detail/callback_frame.hpp). It
// stores the child in place of the destroy function: the frame that a child continues is never destroyed
// through that, and shared_frame::is_one(), which reads that word while the child runs, must find anything
// but its own mark. task_above recognises it by that word.
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
  fork_point point_;  // its destructor waits for the child, which is destroyed after it
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
    this->point().offer(parent);  // from here on the parent may run: nothing of it is accessed
    return transfer_to(child);
  }
  void await_resume() const noexcept {}

 private:
  struct started : task_awaiter<T> {
    explicit started(task<T>& work) noexcept : task_awaiter<T>(std::move(work).plain_awaiter()) {}
    /// It continues `continuation` when it ends.
    CORACLE_ALWAYS_INLINE()
    std::coroutine_handle<> body(std::coroutine_handle<> continuation,
                                 const environment* inherited) const noexcept {
      const auto its = this->body_;
      its.promise().set_parent_to_fork(continuation, inherited);
      return its;
    }
  };
};
template <class T>
class join_awaiter : public fork_awaiter<T> {
 public:
  using fork_awaiter<T>::fork_awaiter;
  bool await_ready() noexcept { return this->point().child_is_over(); }
  bool await_suspend(std::coroutine_handle<> parent) noexcept { return this->point().wait(parent); }
  T await_resume() { return std::move(this->work()).plain_awaiter().await_resume(); }
};
}  // namespace coracle::detail
