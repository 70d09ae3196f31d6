// coracle/testing/allocations.hpp -- counts global allocations, and makes them fail.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/check.hpp>
#include <coracle/core/frame_memory.hpp>
#include <cstddef>
#include <cstdlib>
#include <new>

// clang's ThreadSanitizer has an operator new that cannot be replaced.
#define CORACLE_CAN_COUNT_ALLOCATIONS() !CORACLE_HAS_FEATURE(thread_sanitizer)

namespace coracle::testing {
namespace heap {
struct allocation_counts {
  std::size_t made = 0;
  std::size_t until_failure = 0;  // 1: the next allocation fails; 0: none does
};
CORACLE_VISIBLE() inline constinit thread_local allocation_counts allocations_of_this_thread{};
CORACLE_VISIBLE() inline constinit coracle::detail::atomic<long long> live_blocks{0};

inline void* allocate_counted(std::size_t size) noexcept {
  allocation_counts& mine = allocations_of_this_thread;
  if (mine.until_failure != 0 && --mine.until_failure == 0) return nullptr;
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (!memory) return nullptr;
  ++mine.made;
  live_blocks.fetch_add(1, detail::memory_order_relaxed);
  return memory;
}
inline void* allocate_counted_or_throw(std::size_t size) {
  void* const memory = allocate_counted(size);
  if (!memory) CORACLE_THROW(std::bad_alloc{}, "an allocation failed");
  return memory;
}
inline void free_counted(void* memory) noexcept {
  if (!memory) return;
  live_blocks.fetch_sub(1, detail::memory_order_relaxed);
  std::free(memory);
}
}  // namespace heap

/// False if a program with this sanitizer cannot count. Skip the tests that count, so that the run reports
/// them as skipped:
///
///     TEST_CASE("..." * doctest::skip(!coracle::testing::allocations_are_counted))
inline constexpr bool allocations_are_counted = CORACLE_CAN_COUNT_ALLOCATIONS();

/// Returns the number of blocks that the calling thread has allocated with the global operator new, except
/// over-aligned ones. Read it before an assertion, which may allocate too. Needs CORACLE_COUNT_ALLOCATIONS().
[[nodiscard]] inline std::size_t allocations() noexcept { return heap::allocations_of_this_thread.made; }
/// Returns the number of blocks of the whole program, on all threads, that are allocated and not freed.
[[nodiscard]] inline long long live_allocations() noexcept {
  return heap::live_blocks.load(detail::memory_order_relaxed);
}

/// While it lives, the k-th allocation of this thread, counted from 1, throws std::bad_alloc; only that one.
/// Frames count only if none is recycled: see trim_frame_memory().
///
///     const coracle::testing::failing_allocation third{3};
class failing_allocation {
 public:
  explicit failing_allocation(std::size_t k) noexcept { heap::allocations_of_this_thread.until_failure = k; }
  failing_allocation(const failing_allocation&) = delete;
  failing_allocation& operator=(const failing_allocation&) = delete;
  ~failing_allocation() { heap::allocations_of_this_thread.until_failure = 0; }
  /// Returns false if there have been fewer than k allocations.
  [[nodiscard]] bool happened() const noexcept { return heap::allocations_of_this_thread.until_failure == 0; }
};

/// While it lives, allocations of this thread are neither counted by allocations() nor made to fail: for code
/// that stands in for the system, whose memory is not the program's.
///
///     const coracle::testing::allocations_aside of_the_device;
class allocations_aside {
 public:
  allocations_aside() noexcept : before_(heap::allocations_of_this_thread) {
    heap::allocations_of_this_thread.until_failure = 0;
  }
  allocations_aside(const allocations_aside&) = delete;
  allocations_aside& operator=(const allocations_aside&) = delete;
  ~allocations_aside() { heap::allocations_of_this_thread = before_; }

 private:
  const heap::allocation_counts before_;
};

/// Calls `f` repeatedly with its 1st, 2nd, 3rd ... allocation failing, until it makes no more. Returns how
/// many failed, or -1 if a failure leaked memory.
///
///     CHECK(coracle::testing::fail_each_allocation([] {
///       try { serve_one(); } catch (const std::bad_alloc&) {}
///     }) >= 3);
///
/// Exceptions  `f` throws none.
/// Threads     allocations of other threads do not fail; no thread may start or end in the meantime.
template <class F>
int fail_each_allocation(F f) {
  const std::size_t before_one = allocations();
  ::operator delete(::operator new(1));
  if (allocations() == before_one) {
    detail::fail("nothing counts allocations: one file of the program has CORACLE_COUNT_ALLOCATIONS()");
  }
  for (std::size_t k = 1;; ++k) {
    trim_frame_memory();
    const long long before = live_allocations();
    bool happened;
    {
      const failing_allocation failing{k};
      f();
      happened = failing.happened();
    }
    trim_frame_memory();
    if (live_allocations() != before) return -1;
    if (!happened) return static_cast<int>(k) - 1;
  }
}
}  // namespace coracle::testing

/// Use in one file of a program, outside any namespace: replaces the global operator new and delete with
/// counting ones.
#if CORACLE_CAN_COUNT_ALLOCATIONS()
#define CORACLE_COUNT_ALLOCATIONS()                                                                          \
  void* operator new(std::size_t size) { return coracle::testing::heap::allocate_counted_or_throw(size); }   \
  void* operator new[](std::size_t size) { return coracle::testing::heap::allocate_counted_or_throw(size); } \
  void* operator new(std::size_t size, const std::nothrow_t&) noexcept {                                     \
    return coracle::testing::heap::allocate_counted(size);                                                   \
  }                                                                                                          \
  void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {                                   \
    return coracle::testing::heap::allocate_counted(size);                                                   \
  }                                                                                                          \
  void operator delete(void* memory) noexcept { coracle::testing::heap::free_counted(memory); }              \
  void operator delete[](void* memory) noexcept { coracle::testing::heap::free_counted(memory); }            \
  void operator delete(void* memory, std::size_t) noexcept { coracle::testing::heap::free_counted(memory); } \
  void operator delete[](void* memory, std::size_t) noexcept {                                               \
    coracle::testing::heap::free_counted(memory);                                                            \
  }                                                                                                          \
  void operator delete(void* memory, const std::nothrow_t&) noexcept {                                       \
    coracle::testing::heap::free_counted(memory);                                                            \
  }                                                                                                          \
  void operator delete[](void* memory, const std::nothrow_t&) noexcept {                                     \
    coracle::testing::heap::free_counted(memory);                                                            \
  }                                                                                                          \
  static_assert(true, "a semicolon follows")
#else
#define CORACLE_COUNT_ALLOCATIONS() static_assert(true, "a semicolon follows")
#endif
