// expect: nothing is received until this is awaited
// tests/compile_fail/dropped_recv.cpp -- recv() of a subscription that nobody awaits.
// SPDX-License-Identifier: MIT
#include <coracle/channels/broadcast.hpp>
#include <coracle/core/task.hpp>
#if defined(__clang__)
#pragma clang diagnostic error "-Wunused-value"
#else
#pragma GCC diagnostic error "-Wunused-result"
#endif

coracle::task<> wrong(coracle::broadcast_subscription<int> mine) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  mine.recv();
#endif
  static_cast<void>(co_await mine.recv());
}
