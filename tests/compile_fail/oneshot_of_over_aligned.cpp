// expect: the value of a oneshot is aligned to 16 bytes at most
// tests/compile_fail/oneshot_of_over_aligned.cpp -- a value that the recycler's memory would misalign.
// SPDX-License-Identifier: MIT
#include <coracle/channels/oneshot.hpp>
#include <memory>

struct alignas(64) line {
  char bytes[64];
};
void wrong() {
  auto right = coracle::oneshot<std::unique_ptr<line>>();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  auto ends = coracle::oneshot<line>();
#endif
}
