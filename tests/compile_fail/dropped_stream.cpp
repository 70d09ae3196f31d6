// expect: a stream does nothing until it ends in for_each, fold or collect, and that is awaited
// tests/compile_fail/dropped_stream.cpp -- a pipeline without an end.
// SPDX-License-Identifier: MIT
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/merge.hpp>
#if defined(__clang__)
#pragma clang diagnostic error "-Wunused-value"
#else
#pragma GCC diagnostic error "-Wunused-result"
#endif

coracle::async_generator<int> numbers();
void wrong() {
  const auto kept = coracle::streams::merge(numbers(), numbers());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::streams::merge(numbers(), numbers());
#endif
}
