// expect: std::move(descriptor).release()
// tests/compile_fail/release_of_named_descriptor.cpp -- a descriptor that is released without a move.
// SPDX-License-Identifier: MIT
#include <coracle/io/owned_descriptor.hpp>

int give_away(coracle::owned_descriptor& descriptor) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  return descriptor.release();
#else
  return std::move(descriptor).release();
#endif
}
