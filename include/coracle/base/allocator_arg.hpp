// coracle/base/allocator_arg.hpp -- std::allocator_arg_t, without <memory>.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

// Every user of a task includes this. <tuple> has it too, at a fifth of the cost of <memory>, but even that
// was a sixth of the cost of core/task.hpp. libstdc++ keeps it in a small header of its own; unknown versions
// may not.
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE <= 15 && __has_include(<bits/uses_allocator.h>)
#include <bits/uses_allocator.h>
#else
#include <tuple>
#endif
