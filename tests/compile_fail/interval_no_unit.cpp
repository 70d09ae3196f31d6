// expect: an interval needs a duration, which has a unit, such as 10ms
// tests/compile_fail/interval_no_unit.cpp -- a period without a unit.
// SPDX-License-Identifier: MIT
#include <coracle/time/interval.hpp>

#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::interval wrong{10};
#endif
