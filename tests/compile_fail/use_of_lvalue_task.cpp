// expect first: this object can be awaited only once: write co_await std::move(object)
// tests/compile_fail/use_of_lvalue_task.cpp -- the cause comes before what uses the result.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <string>

coracle::task<std::string> name();
coracle::task<std::size_t> wrong() {
  auto named = name();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  auto text = co_await named;
  co_return text.size();
#endif
  co_return 0;
}
