// expect: put it in parentheses after co_await
// tests/compile_fail/stream_without_parentheses.cpp -- co_await binds closer than `|`.
// SPDX-License-Identifier: MIT
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/ends.hpp>

coracle::async_generator<int> numbers();
coracle::task<int*> next();
coracle::task<> wrong() {
  co_await (numbers() | coracle::streams::collect());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await next() | coracle::streams::collect();
#endif
}
