// expect: a pipeline begins with a stream: an async_generator, a channel
// tests/compile_fail/stream_from_int.cpp -- a number on the left of a pipeline.
// SPDX-License-Identifier: MIT
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/stages.hpp>

coracle::async_generator<int> numbers();
coracle::task<> wrong() {
  const auto twice = [](int n) { return 2 * n; };
  co_await (numbers() | coracle::streams::map(twice) | coracle::streams::collect());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await (42 | coracle::streams::map(twice) | coracle::streams::collect());
#endif
}
