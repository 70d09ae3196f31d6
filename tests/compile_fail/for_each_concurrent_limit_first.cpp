// expect: the range comes before the limit: for_each_concurrent(range, limit, function)
// tests/compile_fail/for_each_concurrent_limit_first.cpp -- the limit where the range belongs.
// SPDX-License-Identifier: MIT
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/core/task.hpp>
#include <vector>

coracle::task<> visit(int number);
coracle::task<> wrong(std::vector<int> numbers) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::for_each_concurrent(4, numbers, visit);
#endif
  co_await coracle::for_each_concurrent(numbers, 4, visit);
}
