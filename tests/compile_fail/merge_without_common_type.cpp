// expect: merge(a, b, ...): the elements of the streams have no common type: map them to one
// tests/compile_fail/merge_without_common_type.cpp -- numbers and texts in one stream.
// SPDX-License-Identifier: MIT
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/merge.hpp>
#include <string>

coracle::async_generator<int> numbers();
coracle::async_generator<std::string> words();
coracle::task<> wrong() {
  co_await (coracle::streams::merge(numbers(), numbers()) | coracle::streams::collect());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await (coracle::streams::merge(numbers(), words()) | coracle::streams::collect());
#endif
}
