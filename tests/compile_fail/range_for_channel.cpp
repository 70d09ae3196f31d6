// expect: while (auto each = co_await c.recv())
// tests/compile_fail/range_for_channel.cpp -- a range-for over what has to be awaited.
// SPDX-License-Identifier: MIT
#include <coracle/channels/channel.hpp>
#include <coracle/core/task.hpp>

coracle::task<int> wrong(coracle::channel<int>& numbers) {
  int sum = 0;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  for (const int each : numbers) sum += each;
#else
  while (const auto each = co_await numbers.recv()) sum += *each;
#endif
  co_return sum;
}
