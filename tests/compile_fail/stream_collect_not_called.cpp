// expect: collect is a function, which has to be called: source | collect()
// tests/compile_fail/stream_collect_not_called.cpp -- the name of a stage in place of its call.
// SPDX-License-Identifier: MIT
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/ends.hpp>

coracle::async_generator<int> numbers();
coracle::task<> wrong() {
  co_await (numbers() | coracle::streams::collect());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await (numbers() | coracle::streams::collect);
#endif
}
