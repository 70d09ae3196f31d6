// expect: the parameter after std::allocator_arg is not an allocator
// tests/compile_fail/allocator_is_memory_resource.cpp -- a memory resource instead of a pointer to it.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <memory_resource>

#ifdef CORACLE_COMPILE_FAIL_CONTROL
using memory = std::pmr::memory_resource*;
#else
using memory = std::pmr::memory_resource&;
#endif
coracle::task<int> wrong(std::allocator_arg_t, memory) { co_return 1; }
