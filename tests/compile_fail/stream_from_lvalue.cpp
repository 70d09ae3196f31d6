// expect: a pipeline owns its source: write std::move(source) | ...
// tests/compile_fail/stream_from_lvalue.cpp -- a generator that has a name, as the source of a pipeline.
// SPDX-License-Identifier: MIT
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/stages.hpp>

coracle::async_generator<int> numbers();
coracle::task<> wrong() {
  auto named = numbers();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await (named | coracle::streams::take(3) | coracle::streams::collect());
#endif
  co_await (std::move(named) | coracle::streams::take(3) | coracle::streams::collect());
}
