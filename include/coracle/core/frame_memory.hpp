// coracle/core/frame_memory.hpp -- memory for coroutine frames: a per-thread recycler.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/core/detail/frame_recycler.hpp>
#include <cstddef>
#include <new>

namespace coracle {
/// Promise part: frames come from the calling thread's recycler and return to the thread that frees them.
/// Threads     a frame may be freed on any thread.
/// Exceptions  std::bad_alloc.
/// Cost        a list pop and a list push, no lock; frames above 256 KiB come from the global heap. A thread
///             keeps at most 256 KiB of each of 65 sizes up to 1032 bytes, and 16 MiB more of all sizes
///             together; the process keeps 16 MiB more for frames that one thread allocates and another
///             frees. Sizes above 1032 bytes are rounded up by at most an eighth. A frame of more than 184
///             bytes gets cache lines of its own, and takes 64 bytes more.
/// With CORACLE_ENABLE_HEAP_FRAMES=0 an object that would get such memory does not compile:
/// docs/without-a-heap.md.
struct recycled_frames {
#if CORACLE_HEAP_FRAMES()
  static void* operator new(std::size_t size) { return detail::allocate_recycled(size); }
#else
  // Not defined: where the compiler has no such attribute, the linker reports it.
  [[gnu::error(
      "CORACLE_ENABLE_HEAP_FRAMES is 0, and this frame would come from the heap: let the coroutine take "
      "std::allocator_arg and a std::pmr::memory_resource* first")]] static void*
  operator new(std::size_t size);
#endif
  static void operator delete(void* frame, std::size_t size) noexcept { detail::free_recycled(frame, size); }
};

/// Promise part: frames come from the global `operator new`.
struct heap_frames {};

/// Promise part: where memory runs out, the coroutine function returns `Return::on_allocation_failure()`
/// instead of throwing std::bad_alloc.
template <class Return>
struct reports_allocation_failure {
  // Not a nothrow_t form: g++ does not look for one in a promise.
  static void* operator new(std::size_t size) noexcept { return ::operator new(size, std::nothrow); }
  static void operator delete(void* frame, std::size_t) noexcept { ::operator delete(frame); }
  static Return get_return_object_on_allocation_failure() noexcept(
      noexcept(Return::on_allocation_failure())) {
    return Return::on_allocation_failure();
  }
};

/// Returns to the global heap the frames that the calling thread has cached and those in the depot. Pool
/// threads that have more than a few do so themselves when they have been idle for a while. Leak checkers
/// other than AddressSanitizer's report frames cached by threads that are still running when the program
/// ends.
inline void trim_frame_memory() noexcept { detail::empty_lists(detail::this_thread_frames()); }

/// Fills the calling thread's recycler until it has at least `count` free frames of `bytes` bytes, or fewer
/// if it keeps no more of that size or memory runs out.
inline void reserve_frame_memory(std::size_t bytes, std::size_t count) noexcept {
  if (bytes > detail::largest_kept) return;
  const std::size_t size = bytes < sizeof(void*) ? sizeof(void*) : bytes;
  constexpr std::size_t budgets = detail::class_budget + detail::shared_budget + detail::depot_budget;
  const std::size_t most_kept = budgets / detail::rounded_size(size);
  void* newest = nullptr;
  CORACLE_TRY() {
    for (std::size_t i = 0; i != count && i != most_kept; ++i) {
      void* const frame = detail::allocate_recycled(size);
      newest = ::new (frame) void*(newest);
    }
  }
  CORACLE_CATCH_ALL() {}
  while (newest) {
    void* const before = *static_cast<void**>(newest);
    detail::free_recycled(newest, size);
    newest = before;
  }
}
}  // namespace coracle
