// expect first: a braced list would copy its elements
// tests/compile_fail/when_any_braced_list.cpp -- tasks in a list that cannot be moved from.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_any.hpp>
#include <coracle/core/task.hpp>

coracle::task<int> answer();
coracle::task<> wrong() {
  co_await coracle::when_any(answer(), answer());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::when_any({answer(), answer()});
#endif
}
