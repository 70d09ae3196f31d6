// expect: fork_join takes over tasks
// tests/compile_fail/fork_join_function.cpp -- a function that was not called.
// SPDX-License-Identifier: MIT
#include <coracle/compose/fork_join.hpp>

coracle::task<> wrong() {
  const auto work = []() -> coracle::task<int> { co_return 1; };
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::fork_join(work(), work);
#else
  co_await coracle::fork_join(work(), work());
#endif
}
