// expect: a task cannot return an array: return a std::array
// tests/compile_fail/task_of_array.cpp -- no function returns an array.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/core/task.hpp>

coracle::task<std::array<int, 3>> right() { co_return std::array{1, 2, 3}; }
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::task<int[3]> wrong() { co_return {1, 2, 3}; }
#endif
