// expect: for_each_concurrent takes one that does
// tests/compile_fail/parallel_for_task.cpp -- a function whose result would have to be awaited.
// SPDX-License-Identifier: MIT
#include <coracle/exec/parallel_for.hpp>

void visit(int);
coracle::task<> fetch(int);
coracle::task<> wrong(coracle::static_thread_pool& pool, const int (&numbers)[3]) {
  co_await coracle::parallel_for(pool, numbers, visit);
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::parallel_for(pool, numbers, fetch);
#endif
}
