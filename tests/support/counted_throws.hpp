// tests/support/counted_throws.hpp -- how many exceptions the program has thrown. For one file of the
// program.
// SPDX-License-Identifier: MIT
#pragma once
#include <dlfcn.h>

#include <atomic>
#include <exception>

namespace coracle_test {
/// Where the runtime is libc++, which that program links statically, throws are not counted.
#ifdef __GLIBCXX__
inline constexpr bool counts_throws = true;
#else
inline constexpr bool counts_throws = false;
#endif
inline std::atomic<int> throws_so_far{0};

/// Returns how many exceptions `f()` throws. A rethrow does not count: it is of an exception that does.
template <class F>
int throws_of(F&& f) {
  const int before = throws_so_far.load();
  f();
  return throws_so_far.load() - before;
}
}  // namespace coracle_test

#ifdef __GLIBCXX__
/// Called by each `throw` of the program, in place of the function of that name in libstdc++.
extern "C" [[noreturn]] void __cxa_throw(void* exception, void* type, void (*destroy)(void*)) {
  using function = void(void*, void*, void (*)(void*));
  static auto* const next = reinterpret_cast<function*>(dlsym(RTLD_NEXT, "__cxa_throw"));
  ++coracle_test::throws_so_far;
  next(exception, type, destroy);
  std::terminate();
}
#endif
