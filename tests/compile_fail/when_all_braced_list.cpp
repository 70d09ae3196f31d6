// expect first: a braced list would copy its elements
// tests/compile_fail/when_all_braced_list.cpp -- tasks in a list that cannot be moved from.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>

coracle::task<int> answer();
coracle::task<> wrong() {
  co_await coracle::when_all(answer(), answer());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::when_all({answer(), answer()});
#endif
}
