// expect: aligned to 16 bytes at most
// tests/compile_fail/spawn_over_aligned.cpp -- a child that the recycler's memory would misalign.
// SPDX-License-Identifier: MIT
#include <coracle/compose/async_scope.hpp>

struct alignas(64) line {
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  void await_resume() const noexcept {}
};
void wrong(coracle::async_scope& scope) {
  scope.spawn(std::suspend_never{});
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  scope.spawn(line{});
#endif
}
