// coracle/base/allocator_arg.hpp -- std::allocator_arg_t, where the standard has it in <memory> alone.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

// Every user of a task includes this. <tuple> has it too, at a fifth of the cost of <memory>; but even that was a sixth of
// the cost of core/task.hpp, and libstdc++ keeps it in a small header of its own. Of a version that is not known yet we
// do not rely on that.
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE <= 15 && __has_include(<bits/uses_allocator.h>)
#include <bits/uses_allocator.h>
#else
#include <tuple>
#endif
