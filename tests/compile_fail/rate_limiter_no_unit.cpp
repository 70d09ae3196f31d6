// expect: a rate_limiter needs a number of tokens, then a period in whole units: {100, 500ms}
// tests/compile_fail/rate_limiter_no_unit.cpp -- a period without a unit.
// SPDX-License-Identifier: MIT
#include <coracle/time/rate_limiter.hpp>

#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::rate_limiter wrong{100, 1};
#endif
