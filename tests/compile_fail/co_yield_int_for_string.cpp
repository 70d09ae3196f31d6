// expect: what this coroutine yields cannot be made of this value
// tests/compile_fail/co_yield_int_for_string.cpp -- co_yield of another type than the generator's.
// SPDX-License-Identifier: MIT
#include <coracle/generators/generator.hpp>
#include <string>

coracle::generator<std::string> right() { co_yield "text"; }
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::generator<std::string> wrong() { co_yield 1; }
#endif
