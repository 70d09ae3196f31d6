// expect: needs a concurrency limit: for_each_concurrent(range, limit, function)
// tests/compile_fail/for_each_concurrent_no_limit.cpp -- one coroutine for each element, without a limit.
// SPDX-License-Identifier: MIT
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/core/task.hpp>
#include <vector>

coracle::task<> wrong(std::vector<int>& numbers) {
  const auto visit = [](int) -> coracle::task<> { co_return; };
  co_await coracle::for_each_concurrent(numbers, 8, visit);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::for_each_concurrent(numbers, visit);
#endif
}
