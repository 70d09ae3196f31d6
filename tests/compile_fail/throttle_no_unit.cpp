// expect: throttle needs a duration, which has a unit, such as 10ms
// tests/compile_fail/throttle_no_unit.cpp -- a bare number is not a time.
// SPDX-License-Identifier: MIT
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/time.hpp>

coracle::async_generator<int> numbers();
coracle::task<> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await (numbers() | coracle::streams::throttle(100) | coracle::streams::collect());
#endif
  co_return;
}
