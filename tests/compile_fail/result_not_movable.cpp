// expect: the result is moved out of a task
// tests/compile_fail/result_not_movable.cpp -- a result that cannot leave the frame.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/core/task.hpp>
#include <memory>

using counter = std::atomic<int>;
coracle::task<std::unique_ptr<counter>> right() { co_return std::make_unique<counter>(1); }
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::task<counter> wrong() { co_return 1; }
#endif
