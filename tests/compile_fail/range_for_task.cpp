// expect: a task is no range: co_await it
// tests/compile_fail/range_for_task.cpp -- a range-for over a call that is not awaited.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <string>
#include <vector>

coracle::task<std::vector<std::string>> names();
coracle::task<std::size_t> wrong() {
  std::size_t sum = 0;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  for (auto& each : names()) sum += each;
#else
  for (auto& each : co_await names()) sum += each.size();
#endif
  co_return sum;
}
