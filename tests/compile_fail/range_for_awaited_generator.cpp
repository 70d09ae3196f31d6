// expect: co_await needs an awaitable
// tests/compile_fail/range_for_awaited_generator.cpp -- a range-for over what is no awaitable of a range.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/generators/async_generator.hpp>

coracle::async_generator<int> numbers();
coracle::task<int> wrong() {
  int sum = 0;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  for (int each : co_await numbers()) sum += each;
#endif
  co_return sum;
}
