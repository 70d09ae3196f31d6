// expect: forked takes over a task
// tests/compile_fail/forked_function.cpp -- a function that was not called.
// SPDX-License-Identifier: MIT
#include <coracle/compose/forked.hpp>

coracle::task<> wrong() {
  const auto work = []() -> coracle::task<int> { co_return 1; };
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::forked child{work};
#else
  coracle::forked child{work()};
#endif
  co_await child.fork();
  co_await child.join();
}
