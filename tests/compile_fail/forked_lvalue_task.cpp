// expect: forked takes over a task
// tests/compile_fail/forked_lvalue_task.cpp -- a task that has a name is moved in.
// SPDX-License-Identifier: MIT
#include <coracle/compose/forked.hpp>

coracle::task<int> wrong(coracle::task<int> child) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::forked left{child};
#else
  coracle::forked left{std::move(child)};
#endif
  co_await left.fork();
  co_return co_await left.join();
}
