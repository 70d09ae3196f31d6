// expect: compilers misalign over-aligned objects in coroutine frames
// tests/compile_fail/over_aligned_result.cpp -- a result that frames of g++ 12 would misalign.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

struct alignas(64) line {
  char bytes[64];
};
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::task<line> wrong() { co_return line{}; }
#endif
