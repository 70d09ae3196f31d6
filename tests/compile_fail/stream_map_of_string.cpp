// expect: map(f): f cannot be called with an element of the stream
// tests/compile_fail/stream_map_of_string.cpp -- a function of strings over a stream of numbers.
// SPDX-License-Identifier: MIT
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/stages.hpp>
#include <string>

coracle::async_generator<int> numbers();
coracle::task<> wrong() {
  const auto size = [](const std::string& text) { return text.size(); };
  const auto twice = [](int n) { return 2 * n; };
  co_await (numbers() | coracle::streams::map(twice) | coracle::streams::collect());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await (numbers() | coracle::streams::map(size) | coracle::streams::take(2) |
            coracle::streams::collect());
#endif
}
