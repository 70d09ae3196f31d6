// expect: async_finally(body, cleanup, limit) needs a limit for the clean-up
// tests/compile_fail/async_finally_no_limit.cpp -- a clean-up without a limit.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/time/async_finally.hpp>

coracle::task<> wrong() {
  const auto clean_up = []() -> coracle::task<> { co_return; };
  co_await coracle::async_finally(clean_up(), clean_up, std::chrono::seconds(1));
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::async_finally(clean_up(), clean_up);
#endif
}
