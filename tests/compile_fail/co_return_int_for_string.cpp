// expect: what this coroutine returns cannot be made of this value
// tests/compile_fail/co_return_int_for_string.cpp -- co_return of another type than the coroutine's.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <string>

coracle::task<std::string> right() { co_return "text"; }
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::task<std::string> wrong() { co_return 1.5f; }
#endif
