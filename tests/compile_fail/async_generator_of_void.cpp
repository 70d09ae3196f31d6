// expect: async_generator<T> needs elements: an object type or a reference
// tests/compile_fail/async_generator_of_void.cpp -- a sequence without elements.
// SPDX-License-Identifier: MIT
#include <coracle/generators/async_generator.hpp>

#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::async_generator<void> wrong;
#endif
coracle::async_generator<int> right;
