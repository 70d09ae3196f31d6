// expect: the limit comes before the function: for_each_concurrent(range, limit, function)
// tests/compile_fail/for_each_concurrent_wrong_order.cpp -- the function where the limit belongs.
// SPDX-License-Identifier: MIT
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/core/task.hpp>
#include <vector>

coracle::task<> visit(int number);
coracle::task<> wrong(std::vector<int> numbers) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::for_each_concurrent(numbers, visit, 4);
#endif
  co_await coracle::for_each_concurrent(numbers, 4, visit);
}
