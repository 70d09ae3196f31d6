// coracle/core/static_heap.hpp -- a program whose heap is a static array that is closed after start.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/check.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/stop.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>

namespace coracle {
namespace detail {
/// What is in use of the array of CORACLE_STATIC_HEAP().
//
//   [H1] load, compare-exchange of used_  relaxed  give disjoint parts of the array; what passes one to
//                                                  another thread orders the accesses
//   [H2] load, store of sealed_           relaxed  a thread that does not see it yet allocates before it
class static_heap {
 public:
  constexpr static_heap() noexcept = default;

  void* allocate(std::byte* array, std::size_t capacity, std::size_t size, std::size_t alignment) noexcept {
    if (sealed_.load(memory_order_relaxed)) [[unlikely]] /*H2*/
      refuse(size, "after seal_heap(): make it at start, or take memory of your own");
    if (size == 0) size = 1;  // no two blocks have the same address
    const auto base = reinterpret_cast<std::uintptr_t>(array);
    std::size_t used = used_.load(memory_order_relaxed), begin; /*H1*/
    do {
      begin = ((base + used + alignment - 1) & ~(alignment - 1)) - base;
      if (begin > capacity || size > capacity - begin) [[unlikely]]
        refuse(size, "does not fit into the static heap: give CORACLE_STATIC_HEAP() more bytes");
    } while (!used_.compare_exchange_weak(used, begin + size, memory_order_relaxed)); /*H1*/
    return array + begin;
  }
  [[nodiscard]] std::size_t used() const noexcept { return used_.load(memory_order_relaxed); } /*H1*/
  void seal() noexcept { sealed_.store(true, memory_order_relaxed); }                          /*H2*/

 private:
  CORACLE_FAILS() static void refuse(std::size_t size, const char* why) noexcept {
    char message[128];
    std::snprintf(message, sizeof message, "an allocation of %zu bytes %s", size, why);
    fail(message);
  }

  atomic<std::size_t> used_{0};
  atomic<bool> sealed_{false};
};
inline constinit static_heap the_static_heap{};
}  // namespace detail

/// Returns how many bytes of the static heap are in use.
[[nodiscard]] inline std::size_t static_heap_use() noexcept { return detail::the_static_heap.used(); }

/// Lets the calling thread make `count` stop states without an allocation. Each stop_source, and each
/// when_all(), when_any(), select(), timeout() and scope, has one while it runs.
inline void reserve_stop_states(std::size_t count) noexcept {
  reserve_frame_memory(sizeof(detail::stop_state), count);
}

/// Ends the start of the program: from here on, an allocation with the global operator new, on any thread,
/// ends the program with one line, in every build. With install_crash_handler(), the stack and the awaits
/// that led there follow. Requires: one file of the program has CORACLE_STATIC_HEAP().
///
///     CORACLE_STATIC_HEAP(64 * 1024);
///     int main() {
///       coracle::channel<sample> samples{128};
///       coracle::reserve_stop_states(4);
///       coracle::seal_heap();
///       coracle::sync_wait(run(samples));
///     }
///
/// Threads  any; an allocation that another thread makes at the same time may still succeed.
inline void seal_heap() noexcept {
  const std::size_t before = static_heap_use();
  void* volatile block = ::operator new(1);  // not elided
  ::operator delete(block);
  CORACLE_REQUIRE(
      static_heap_use() != before,
      "seal_heap() without a static heap: one file of the program needs CORACLE_STATIC_HEAP(bytes)");
  detail::the_static_heap.seal();
}
}  // namespace coracle

/// Use in one file of a program, outside any namespace: the global operator new takes memory from a static
/// array of so many bytes, without a lock, and operator delete does nothing. An allocation that does not fit
/// ends the program with one line. malloc() is not replaced: libstdc++ uses it to throw, and the C library
/// for a stream's buffer.
#define CORACLE_STATIC_HEAP(bytes)                                                                          \
  alignas(64) static std::byte coracle_static_heap[bytes];                                                  \
  static void* coracle_allocate(std::size_t size, std::size_t alignment) noexcept {                         \
    return coracle::detail::the_static_heap.allocate(coracle_static_heap, sizeof coracle_static_heap, size, \
                                                     alignment);                                            \
  }                                                                                                         \
  void* operator new(std::size_t size) { return coracle_allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); } \
  void* operator new(std::size_t size, std::align_val_t alignment) {                                        \
    return coracle_allocate(size, static_cast<std::size_t>(alignment));                                     \
  }                                                                                                         \
  void* operator new(std::size_t size, const std::nothrow_t&) noexcept {                                    \
    return coracle_allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);                                        \
  }                                                                                                         \
  void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {        \
    return coracle_allocate(size, static_cast<std::size_t>(alignment));                                     \
  }                                                                                                         \
  void operator delete(void*) noexcept {}                                                                   \
  void operator delete(void*, std::size_t) noexcept {}                                                      \
  void operator delete(void*, std::align_val_t) noexcept {}                                                 \
  void operator delete(void*, std::size_t, std::align_val_t) noexcept {}                                    \
  static_assert(true, "a semicolon follows")
