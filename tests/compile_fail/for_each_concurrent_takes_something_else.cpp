// expect: needs a function that takes an element of the range
// tests/compile_fail/for_each_concurrent_takes_something_else.cpp -- a function of another type than the
// elements'.
// SPDX-License-Identifier: MIT
#include <coracle/compose/for_each_concurrent.hpp>

coracle::task<> visit(int);
coracle::task<> read_name(const char*);
coracle::task<> wrong(const int (&numbers)[3]) {
  co_await coracle::for_each_concurrent(numbers, 2, visit);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::for_each_concurrent(numbers, 2, read_name);
#endif
}
