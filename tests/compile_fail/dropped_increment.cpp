// expect: ++ does nothing until it is awaited: co_await ++it
// tests/compile_fail/dropped_increment.cpp -- the step of an async_generator's iterator that nobody awaits.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/generators/async_generator.hpp>
#if defined(__clang__)
#pragma clang diagnostic error "-Wunused-value"
#else
#pragma GCC diagnostic error "-Wunused-result"
#endif

coracle::async_generator<int> numbers();
coracle::task<> wrong() {
  coracle::async_generator<int> named = numbers();
  auto it = co_await named.begin();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  ++it;
#endif
  co_await ++it;
}
