// expect: while (auto* each = co_await g.next())
// tests/compile_fail/range_for_async_generator.cpp -- a range-for over what has to be awaited.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/generators/async_generator.hpp>

coracle::task<int> wrong(coracle::async_generator<int> numbers) {
  int sum = 0;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  for (const int each : numbers) sum += each;
#else
  while (const int* each = co_await numbers.next()) sum += *each;
#endif
  co_return sum;
}
