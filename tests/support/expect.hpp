// tests/support/expect.hpp -- what a program of tests without a framework expects, and its exit status.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdio>

namespace coracle_test {
inline int failures = 0;

inline void expect(bool right, const char* what) {
  if (right) return;
  ++failures;
  std::printf("FAILED: %s\n", what);
}
/// For the end of main(). Prints `success` if everything was as expected.
inline int exit_status(const char* success) {
  if (failures == 0) std::puts(success);
  return failures == 0 ? 0 : 1;
}
}  // namespace coracle_test
