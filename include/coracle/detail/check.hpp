// coracle/detail/check.hpp -- preconditions that are verified under CORACLE_CHECKS().
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/detail/config.hpp>
#include <cstdio>

namespace coracle::detail {
#if defined(CORACLE_MODEL)
void fail_in_model(const char* message) noexcept;  // returns where no model_check() runs
#endif
/// One line on stderr.
CORACLE_COLD() inline void tell(const char* message) noexcept {
  std::fputs("coracle: ", stderr);
  std::fputs(message, stderr);
  std::fputs("\n", stderr);
}
/// Ends the program with it.
[[noreturn]] CORACLE_COLD() inline void fail(const char* message) noexcept {
#if defined(CORACLE_MODEL)
  fail_in_model(message);
#endif
  tell(message);
  __builtin_abort();
}
}  // namespace coracle::detail

#if CORACLE_CHECKS()
#define CORACLE_CHECK(condition, message) ((condition) ? void() : ::coracle::detail::fail(message))
#else
#define CORACLE_CHECK(condition, message) void()
#endif
