// expect: returns nothing, a bool, or an awaitable of these
// tests/compile_fail/as_completed_count.cpp -- a consumer that returns a number, of which 0 would stop.
// SPDX-License-Identifier: MIT
#include <coracle/compose/as_completed.hpp>
#include <cstdio>
#include <utility>
#include <vector>

coracle::task<> wrong(std::vector<coracle::task<int>> tasks) {
  co_await coracle::as_completed(std::move(tasks), [](int i) { return std::printf("%d\n", i) > 0; });
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::as_completed(std::move(tasks), [](int i) { return std::printf("%d\n", i); });
#endif
}
