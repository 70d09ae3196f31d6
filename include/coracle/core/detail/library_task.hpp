// coracle/core/detail/library_task.hpp -- a task whose body is compiled into the library.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/task.hpp>
#include <coroutine>

namespace coracle::detail {
/// If the task that awaits `failed` is of a program without exceptions, has it ended when it is resumed, with
/// the exception that `failed` keeps.
CORACLE_COLD() void end_parent_with(task_frame& failed) noexcept;

/// What a coroutine of the compiled library returns. g++ and clang return a task in different ways (ADR 21),
/// and a library_task in the same way, so that either can compile the program. An inline function turns it
/// into the task that its caller gets:
///
///     library_task<int> answer_body();  // a coroutine in src/
///     CORACLE_CORO_WRAPPER() inline task<int> answer() { return answer_body(); }
///
/// Requires: it becomes a task exactly once.
template <class T = void>
class library_task {
 public:
  struct promise_type : task_promise<T> {
    // If the program's compiler is not the library's, the task that owns the frame may rely on the promise to
    // drop an error that nobody has taken.
    ~promise_type() {
      if constexpr (task_promise<T>::owner_drops_error) this->drop_untaken_error();
    }
    void unhandled_exception() noexcept {
      task_promise<T>::unhandled_exception();
      end_parent_with(
          *static_cast<task_frame*>(std::coroutine_handle<promise_type>::from_promise(*this).address()));
    }
    library_task get_return_object() noexcept {
      return library_task{std::coroutine_handle<task_promise<T>>::from_promise(*this)};
    }
  };

  CORACLE_CORO_UNBOUND() operator task<T>() const noexcept { return task<T>{body_}; }

 private:
  explicit library_task(std::coroutine_handle<task_promise<T>> body) noexcept : body_(body) {}

  std::coroutine_handle<task_promise<T>> body_;
};
}  // namespace coracle::detail
