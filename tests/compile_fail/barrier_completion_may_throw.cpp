// expect: the completion function of an async_barrier takes no argument and must not throw
// tests/compile_fail/barrier_completion_may_throw.cpp -- a completion function that is not noexcept.
// SPDX-License-Identifier: MIT
#include <coracle/sync/async_barrier.hpp>

int phases = 0;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::async_barrier barrier{2, [] { ++phases; }};
#else
coracle::async_barrier barrier{2, []() noexcept { ++phases; }};
#endif
