// coracle/core/detail/ending_await.hpp -- ends a task with the error of what it awaits, without exceptions.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/reports_end.hpp>
#include <coracle/core/detail/shared_frame.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/transfer.hpp>
#include <coroutine>
#include <exception>
#include <type_traits>

namespace coracle::detail {
/// Awaits on behalf of a task. If the awaiter reports that there is no result, the task is ended, as are
/// those that await it: it cannot be resumed, since nothing can be thrown in it.
template <class Awaitable>
class ending_await : shared_frame {
  using awaiter = awaiter_type_t<Awaitable>;

 public:
  CORACLE_ALWAYS_INLINE()
  explicit ending_await(Awaitable&& value)
      : shared_frame(&over, &functions), awaiter_(coracle::get_awaiter(static_cast<Awaitable&&>(value))) {}

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> task) noexcept {
    shared_frame::promise().set_environment(detail::environment_of(task));
    task_ = task.address();
    if (!awaiter_.await_ready()) {
      if (const auto next = detail::suspend_and_give(awaiter_, shared_frame::handle())) return next;
    }
    return continue_or_end();
  }
  decltype(auto) await_resume() { return awaiter_.await_resume(); }

 private:
  CORACLE_TRANSFER_ABI() static void over(basic_callback_frame<shared_promise>* self) {
    const std::coroutine_handle<> next =
        static_cast<ending_await&>(static_cast<shared_frame&>(*self)).continue_or_end();
    CORACLE_RETURN_TO(self, next);
  }
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> continue_or_end() noexcept {
    auto& task = *static_cast<task_frame*>(task_);
    if constexpr (reports_cancellation<std::remove_reference_t<awaiter>>) {
      if (const stop_reason why = awaiter_.await_cancelled(); why != stop_reason::none)
        return end_tasks(task, failed_outcome::of(why));
    }
    if (const std::exception_ptr error = failure_of(awaiter_, internal_call())) return end_tasks(task, error);
    return transfer_to(std::coroutine_handle<>::from_address(task_));
  }
  static awaiting_frame above(shared_promise& self, stop_reason) noexcept {
    return {static_cast<ending_await&>(shared_frame::from(self)).task_, awaiting_frame::kind::task};
  }
  static constexpr shared_promise::functions functions{&shared_promise::ignore_failure, &above};

  awaiter awaiter_;
  void* task_;
};
}  // namespace coracle::detail
