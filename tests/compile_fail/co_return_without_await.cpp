// expect: this has to be awaited first: co_return co_await f()
// tests/compile_fail/co_return_without_await.cpp -- co_return of a task in place of its result.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

coracle::task<int> answer();
coracle::task<int> right() { co_return co_await answer(); }
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::task<int> wrong() { co_return answer(); }
#endif
