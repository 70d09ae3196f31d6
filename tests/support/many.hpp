// tests/support/many.hpp -- how often a test repeats something.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>

namespace coracle_test {
/// `count`, or a tenth of it with a sanitizer, where each takes ten times as long and far more stack.
/// What takes too long only when there are many is found by the builds without one.
constexpr int many(int count) {
  return CORACLE_ADDRESS_SANITIZER() || CORACLE_THREAD_SANITIZER() ? count / 10 : count;
}
}  // namespace coracle_test
