// expect: nothing is acquired until this is awaited
// tests/compile_fail/dropped_acquire_of_rate_limiter.cpp -- a rate_limiter that limits nothing.
// SPDX-License-Identifier: MIT
#include <coracle/time/rate_limiter.hpp>

#if defined(__clang__)
#pragma clang diagnostic error "-Wunused-value"
#else
#pragma GCC diagnostic error "-Wunused-result"
#endif

coracle::task<> drop(coracle::rate_limiter& limiter) {
  co_await limiter.acquire();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  limiter.acquire();
#endif
}
