// expect: the result is moved out of a task
// tests/compile_fail/result_not_movable_awaited.cpp -- a body elsewhere, whose result cannot leave it.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/core/task.hpp>
#include <memory>

using counter = std::atomic<int>;
coracle::task<std::unique_ptr<counter>> right();
coracle::task<counter> wrong();
coracle::task<> count() {
  co_await right();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await wrong();
#endif
}
