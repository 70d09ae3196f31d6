// tests/support/allocations.hpp -- what the global operator new does, counted; and made to fail.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/frame_memory.hpp>
#include <cstddef>

// tests/unit/allocation_counter.cpp replaces the global operators of the whole test program. Over-aligned
// allocations are not counted. Read the counts before an assertion, since assertions may allocate too.
namespace coracle_test {
// clang's ThreadSanitizer brings an operator new that cannot be replaced. Tests that count are decorated with
//     TEST_CASE("..." * doctest::skip(!coracle_test::allocations_are_counted))
// so that such a run says how many it skipped.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CORACLE_TEST_COUNTS_ALLOCATIONS() 0
#endif
#endif
#if !defined(CORACLE_TEST_COUNTS_ALLOCATIONS)
#define CORACLE_TEST_COUNTS_ALLOCATIONS() 1
#endif
inline constexpr bool allocations_are_counted = CORACLE_TEST_COUNTS_ALLOCATIONS();

/// How many blocks the calling thread has allocated so far.
[[nodiscard]] std::size_t allocations() noexcept;
/// How many blocks of the program, of all threads, are allocated and not freed.
[[nodiscard]] long long live_allocations() noexcept;

/// While it lives, the k-th allocation of this thread from now on fails, k counted from 1; only that one.
class failing_allocation {
 public:
  explicit failing_allocation(std::size_t k) noexcept;
  failing_allocation(const failing_allocation&) = delete;
  failing_allocation& operator=(const failing_allocation&) = delete;
  ~failing_allocation();
  /// False: there were fewer than k allocations until now.
  [[nodiscard]] bool happened() const noexcept;
};

/// Calls `f` with its 1st, 2nd, 3rd ... allocation failing, until it makes no more. Returns how many failed,
/// or -1 if a failure left memory behind. `f` throws nothing. Frames count, since none is recycled.
template <class F>
int fail_each_allocation(F f) {
  for (std::size_t k = 1;; ++k) {
    coracle::trim_frame_memory();
    const long long before = live_allocations();
    bool happened;
    {
      const failing_allocation failing(k);
      f();
      happened = failing.happened();
    }
    coracle::trim_frame_memory();
    if (live_allocations() != before) return -1;
    if (!happened) return static_cast<int>(k) - 1;
  }
}
}  // namespace coracle_test
