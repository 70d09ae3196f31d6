// expect: a range of awaitables that can be moved in: std::move(tasks)
// tests/compile_fail/as_completed_lvalue.cpp -- tasks that are not moved in.
// SPDX-License-Identifier: MIT
#include <coracle/compose/as_completed.hpp>
#include <utility>
#include <vector>

coracle::task<> wrong(std::vector<coracle::task<int>> tasks) {
  co_await coracle::as_completed(std::move(tasks), [](int) {});
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::as_completed(tasks, [](int) {});
#endif
}
