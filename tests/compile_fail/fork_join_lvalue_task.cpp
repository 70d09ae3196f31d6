// expect: fork_join takes over tasks
// tests/compile_fail/fork_join_lvalue_task.cpp -- a task that has a name is moved in.
// SPDX-License-Identifier: MIT
#include <coracle/compose/fork_join.hpp>

coracle::task<> wrong(coracle::task<int> child) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::fork_join(child);
#else
  co_await coracle::fork_join(std::move(child));
#endif
}
