// expect: streams::buffered(limit)
// tests/compile_fail/for_each_concurrent_of_async_generator.cpp -- elements that have to be awaited.
// SPDX-License-Identifier: MIT
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/generators/async_generator.hpp>

coracle::task<> visit(int);
coracle::async_generator<const int> numbers();
coracle::task<> wrong(const int (&known)[3]) {
  co_await coracle::for_each_concurrent(known, 2, visit);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::for_each_concurrent(numbers(), 2, visit);
#endif
}
