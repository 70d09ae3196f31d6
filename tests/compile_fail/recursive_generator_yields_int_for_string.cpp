// expect: what this coroutine yields cannot be made of this value
// tests/compile_fail/recursive_generator_yields_int_for_string.cpp -- neither an element nor a generator.
// SPDX-License-Identifier: MIT
#include <coracle/generators/recursive_generator.hpp>
#include <string>

coracle::recursive_generator<std::string> right() {
  co_yield "text";
  co_yield right();
}
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::recursive_generator<std::string> wrong() { co_yield 1; }
#endif
