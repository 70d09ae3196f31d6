// coracle/core/recycled_allocator.hpp -- an allocator for short-lived containers in coroutines.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/frame_memory.hpp>

namespace coracle {
/// Allocates from the memory of frames: a list of free blocks for each thread and size.
///
///     std::vector<coracle::task<int>, coracle::recycled_allocator<coracle::task<int>>> children;
///
/// Prefer it for small containers that a coroutine repeatedly creates and destroys, such as the children of a
/// when_all(), whose results then use it, too.
/// Exceptions  std::bad_alloc.
/// Threads     memory may be freed on any thread, and joins that thread's lists.
/// Cost        a list pop and a list push, an eighth of malloc and free; above 256 KiB, and where the list is
///             empty, an allocation from the global heap.
template <class T>
struct recycled_allocator {
  using value_type = T;

  recycled_allocator() = default;
  template <class U>
  recycled_allocator(const recycled_allocator<U>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                  "blocks are aligned as those of operator new: take std::allocator for this type");
    if (count > static_cast<std::size_t>(-1) / 2 / sizeof(T)) [[unlikely]]
      detail::no_memory();
    return static_cast<T*>(detail::allocate_recycled(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) noexcept { detail::free_recycled(memory, count * sizeof(T)); }

  template <class U>
  friend bool operator==(const recycled_allocator&, const recycled_allocator<U>&) noexcept {
    return true;
  }
};
}  // namespace coracle
