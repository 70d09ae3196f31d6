// tests/support/many.hpp -- how often a test repeats something.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>

namespace coracle_test {
/// `count`, or a tenth of it where each takes many times as long and far more stack: with a sanitizer, or not
/// optimised. What takes too long only when there are many is found by the builds that are neither.
constexpr int many(int count) {
#ifdef __OPTIMIZE__
  return CORACLE_ADDRESS_SANITIZER() || CORACLE_HAS_FEATURE(thread_sanitizer) ? count / 10 : count;
#else
  return count / 10;
#endif
}
}  // namespace coracle_test
