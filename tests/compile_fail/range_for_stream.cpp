// expect: a range-for awaits nothing: co_await (source | for_each(f))
// tests/compile_fail/range_for_stream.cpp -- a range-for over what has to be awaited.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/stages.hpp>

coracle::async_generator<int> numbers();
coracle::task<int> wrong() {
  int sum = 0;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  for (const int each : numbers() | coracle::streams::take(3)) sum += each;
#endif
  co_return sum;
}
