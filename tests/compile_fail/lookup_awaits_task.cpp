// expect: a lookup awaits nothing but coracle::prefetch()
// tests/compile_fail/lookup_awaits_task.cpp -- what waits for long has no place among lookups.
// SPDX-License-Identifier: MIT
#include <coracle/compose/interleave.hpp>
#include <coracle/core/task.hpp>

coracle::task<> work() { co_return; }

coracle::interleaved wrong() {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await work();
#endif
  co_return;
}
