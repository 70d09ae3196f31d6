// expect: needs a function that takes the result of one
// tests/compile_fail/as_completed_consumer.cpp -- a consumer of something else.
// SPDX-License-Identifier: MIT
#include <coracle/compose/as_completed.hpp>
#include <utility>
#include <vector>

coracle::task<> wrong(std::vector<coracle::task<int>> tasks) {
  co_await coracle::as_completed(std::move(tasks), [](int) {});
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::as_completed(std::move(tasks), [](const char*) {});
#endif
}
