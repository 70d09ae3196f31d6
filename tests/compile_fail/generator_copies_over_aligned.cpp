// expect: compilers misalign the copy of an over-aligned object in a coroutine frame
// tests/compile_fail/generator_copies_over_aligned.cpp -- a copy that frames would misalign.
// SPDX-License-Identifier: MIT
#include <coracle/generators/generator.hpp>

struct alignas(64) line {
  char bytes[64];
};
coracle::generator<const line&> right(const line& each) { co_yield each; }
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::generator<line> wrong(const line& each) { co_yield each; }
#endif
