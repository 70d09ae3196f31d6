// expect: the coroutine has not arrived at the barrier until this is awaited
// tests/compile_fail/dropped_arrival.cpp -- an arrival at a barrier that is never awaited.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/sync/async_barrier.hpp>
#if defined(__clang__)
#pragma clang diagnostic error "-Wunused-value"
#else
#pragma GCC diagnostic error "-Wunused-result"
#endif

coracle::task<> drop(coracle::async_barrier<>& barrier) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  barrier.arrive_and_wait();
#endif
  co_await barrier.arrive_and_wait();
}
