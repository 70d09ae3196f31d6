// coracle/core/detail/library_task.hpp -- a task whose body is compiled into the library.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/task.hpp>
#include <coroutine>

namespace coracle::detail {
/// What a coroutine of the compiled library returns. g++ and clang return a task differently (ADR 21), but
/// this alike, so a program may be compiled by either. An inline function gives its caller the task:
///
///     library_task<int> answer_body();  // a coroutine in src/
///     CORACLE_CORO_WRAPPER() inline task<int> answer() { return answer_body(); }
///
/// Must become a task once.
template <class T = void>
class library_task {
 public:
  struct promise_type : task_promise<T> {
    // The owner of the frame may come from a compiler that leaves this to the promise.
    ~promise_type() {
      if constexpr (task_promise<T>::owner_drops_error) this->drop_untaken_error();
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
