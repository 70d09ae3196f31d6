// expect: a lambda that captures it by value must be mutable
// tests/compile_fail/completion_in_const_lambda.cpp -- a callback that may not change what it captures.
// SPDX-License-Identifier: MIT
#include <coracle/compose/from_callback.hpp>
#include <coracle/core/task.hpp>

template <class Callback>
void add(int a, int b, Callback callback) {
  callback(a + b);
}

coracle::task<int> wrong() {
  const auto start = [](coracle::completion<int> done) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
    add(1, 2, [done = std::move(done)](int sum) { done(sum); });
#else
    add(1, 2, [done = std::move(done)](int sum) mutable { done(sum); });
#endif
  };
  co_return co_await coracle::from_callback<int>(start);
}
