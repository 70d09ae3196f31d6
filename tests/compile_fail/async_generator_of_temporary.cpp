// expect: give the async_generator a name: its elements end with it
// tests/compile_fail/async_generator_of_temporary.cpp -- a new generator at each turn of the loop.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/generators/async_generator.hpp>

coracle::async_generator<int> numbers();
coracle::task<int> wrong() {
  coracle::async_generator<int> named = numbers();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const int* first = co_await numbers().next();
  co_return *first;
#endif
  const int* other = co_await named.next();
  co_return *other;
}
