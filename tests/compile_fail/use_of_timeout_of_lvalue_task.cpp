// expect first: a timeout needs an awaitable
// tests/compile_fail/use_of_timeout_of_lvalue_task.cpp -- the cause comes before what uses the result.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/time/timeout.hpp>
#include <string>

coracle::task<std::string> name();
coracle::task<std::size_t> wrong() {
  auto named = name();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  auto text = co_await coracle::timeout(named, std::chrono::seconds(1));
  co_return text.size();
#endif
  co_return 0;
}
