// expect: returns an awaitable, such as a task
// tests/compile_fail/for_each_concurrent_not_awaitable.cpp -- a function that only computes.
// SPDX-License-Identifier: MIT
#include <coracle/compose/for_each_concurrent.hpp>

coracle::task<> visit(int);
coracle::task<> wrong(const int (&numbers)[3]) {
  co_await coracle::for_each_concurrent(numbers, 2, visit);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::for_each_concurrent(numbers, 2, [](int number) { return number; });
#endif
}
