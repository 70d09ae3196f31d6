// expect first: the result of this awaitable is moved
// tests/compile_fail/when_all_result_not_movable.cpp -- a result that cannot be put into a tuple.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>

struct counts {
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  std::atomic<int> await_resume() const noexcept { return std::atomic<int>(1); }
};
coracle::task<int> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::when_all(counts{}, counts{});
#endif
  co_return co_await counts{};
}
