// expect: the await_suspend of this awaiter cannot be called
// tests/compile_fail/await_suspend_returns_int.cpp -- an awaiter of the program's own.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

struct ready_now {
  bool await_ready() { return true; }
#ifdef CORACLE_COMPILE_FAIL_CONTROL
  bool await_suspend(std::coroutine_handle<>) { return false; }
#else
  int await_suspend(std::coroutine_handle<>) { return 0; }
#endif
  void await_resume() {}
};
coracle::task<> wrong() { co_await ready_now{}; }
