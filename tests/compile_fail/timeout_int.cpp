// expect: a timeout needs an awaitable
// tests/compile_fail/timeout_int.cpp -- a number has no time limit.
// SPDX-License-Identifier: MIT
#include <coracle/time/timeout.hpp>

coracle::task<> wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::timeout(42, std::chrono::seconds(1));
#endif
  co_return;
}
