// coracle/core/detail/ends_as_failed.hpp -- ends a task with an error of its own.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#if CORACLE_EXCEPTIONS()
#include <coracle/core/result.hpp>
#else
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coroutine>
#include <exception>
#include <utility>
#endif

// A statement in a coroutine of the library that is a task. `error`: a std::exception_ptr that is not null.
#if CORACLE_EXCEPTIONS()
#define CORACLE_END_AS_FAILED(error) ::coracle::detail::rethrow(error)
#else
#define CORACLE_END_AS_FAILED(error) co_await ::coracle::detail::ends_as_failed(error)

namespace coracle::detail {
class [[nodiscard]] ends_as_failed {
 public:
  explicit ends_as_failed(std::exception_ptr error) noexcept : error_(std::move(error)) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> task) noexcept {
    static_assert(ends_stopped<Promise>, "the combinator that awaits it must be a task");
    const std::exception_ptr error = std::move(error_);  // this object is in the frame
    return end_tasks(*static_cast<task_frame*>(task.address()), error);
  }
  void await_resume() const noexcept {}

 private:
  std::exception_ptr error_;
};
}  // namespace coracle::detail
#endif
