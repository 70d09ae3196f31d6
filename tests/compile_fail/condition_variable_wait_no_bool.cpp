// expect: if given, a function that takes nothing and returns a bool
// tests/compile_fail/condition_variable_wait_no_bool.cpp -- a condition that says nothing.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/sync/async_condition_variable.hpp>

coracle::task<> wrong(coracle::async_mutex& mutex, coracle::async_condition_variable& changed) {
  auto lock = co_await mutex.scoped_lock_async();
  co_await changed.wait(lock, [] { return true; });
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await changed.wait(lock, [] {});
#endif
}
