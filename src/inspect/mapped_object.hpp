// SPDX-License-Identifier: MIT
// Memory for copies of other memory, which a later search must not find.
#pragma once
#include <sys/mman.h>

#include <coracle/base/check.hpp>
#include <cstdint>
#include <new>

namespace coracle::detail {
/// An object, all zero at first, in pages of its own. What is freed on the heap keeps its contents, and a
/// copy of a frame looks like a frame.
template <class T>
class mapped_object {
 public:
  mapped_object()
      : object_(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (object_ == MAP_FAILED) CORACLE_THROW(std::bad_alloc(), "coracle: no memory to search with");
  }
  mapped_object(const mapped_object&) = delete;
  mapped_object& operator=(const mapped_object&) = delete;
  ~mapped_object() { ::munmap(object_, sizeof(T)); }

  [[nodiscard]] T* get() const noexcept { return static_cast<T*>(object_); }

 private:
  void* object_;
};

/// Returns true if the address is in the object.
template <class T>
[[nodiscard]] bool contains(const T* object, std::uintptr_t address) noexcept {
  return object && address - reinterpret_cast<std::uintptr_t>(object) < sizeof(T);
}
}  // namespace coracle::detail
