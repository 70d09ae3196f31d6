// expect: what this coroutine yields cannot be made of this value
// tests/compile_fail/async_generator_yields_int_for_string.cpp -- an element of another type.
// SPDX-License-Identifier: MIT
#include <coracle/generators/async_generator.hpp>
#include <string>

coracle::async_generator<std::string> right() { co_yield "text"; }
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::async_generator<std::string> wrong() { co_yield 1; }
#endif
