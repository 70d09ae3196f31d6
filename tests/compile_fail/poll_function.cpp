// expect: poll needs an awaitable: a call that returns a task, or std::move of a task that has a name
// tests/compile_fail/poll_function.cpp -- the name of a function in place of its call.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/testing/poll.hpp>

coracle::task<> work();
void wrong() {
  static_cast<void>(coracle::testing::poll(work()).run());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  static_cast<void>(coracle::testing::poll(work));
#endif
}
