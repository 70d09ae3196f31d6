// coracle/core/detail/frame_link.hpp -- the memory of a frame while it is free: a link in a list.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/detail/frame_sizes.hpp>
#include <cstddef>
#include <cstdint>
#include <new>

// As <sanitizer/asan_interface.h> declares them. Only a program with AddressSanitizer has them.
extern "C" void __asan_poison_memory_region(const volatile void* memory, std::size_t size);
extern "C" void __asan_unpoison_memory_region(const volatile void* memory, std::size_t size);

namespace coracle::detail {
inline namespace CORACLE_FRAME_LINKS() {
inline void poison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) noexcept {
  if constexpr (CORACLE_ADDRESS_SANITIZER()) __asan_poison_memory_region(memory, size);
}
inline void unpoison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) noexcept {
  if constexpr (CORACLE_ADDRESS_SANITIZER()) __asan_unpoison_memory_region(memory, size);
}

/// The head of a list, and the link in each free frame: the frame below, and the number of frames for which
/// there is room above. A push therefore needs no separate counter, and a pop restores the previous room. A
/// list without room is full or, if it is empty, has not been used yet (zeroed memory). In the lists that
/// share a budget the number is not the room but the length: the number of frames from this one to the end.
class frame_link {
 public:
  constexpr frame_link() noexcept = default;
#if CORACLE_ADDRESSES_LEAVE_BITS()
  frame_link(frame_link* below, std::size_t room) noexcept : word_(address_of(below) << 16 | room) {}
  [[nodiscard]] frame_link* below() const noexcept { return object_at<frame_link>(word_ >> 16); }
  [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::uint16_t>(word_); }
  static bool can_refer_to(const void* frame) noexcept { return address_of(frame) >> 48 == 0; }

 private:
  std::uintptr_t word_ = 0;  // 48 bits of address, 16 of room
#else
  frame_link(frame_link* below, std::size_t room) noexcept : below_(below), room_(room) {}
  [[nodiscard]] frame_link* below() const noexcept { return below_; }
  [[nodiscard]] std::size_t room() const noexcept { return room_; }
  static bool can_refer_to(const void*) noexcept { return true; }

 private:
  frame_link* below_ = nullptr;
  std::size_t room_ = 0;
#endif
};

/// Where in a free frame of this list its link is. Under AddressSanitizer it is at the end, and everything
/// before it is poisoned: the leak checker does not read poisoned memory, and would otherwise report what the
/// lists of live threads refer to.
constexpr std::size_t link_at(std::size_t index) noexcept {
  return CORACLE_ADDRESS_SANITIZER() ? class_size(index) - sizeof(frame_link) : 0;
}
/// Makes memory that no frame uses any more a free frame above `below`.
CORACLE_ALWAYS_INLINE()
frame_link* as_free(void* memory, std::size_t index, frame_link below) noexcept {
  poison(memory, link_at(index));
  return ::new (static_cast<std::byte*>(memory) + link_at(index)) frame_link(below);
}
/// Where the memory of a free frame begins.
CORACLE_ALWAYS_INLINE() void* memory_of(frame_link* frame, std::size_t index) noexcept {
  return static_cast<std::byte*>(static_cast<void*>(frame)) - link_at(index);
}
/// Makes a free frame, which is in no list any more, memory for a new one.
CORACLE_ALWAYS_INLINE() void* as_memory(frame_link* frame, std::size_t index) noexcept {
  void* const memory = memory_of(frame, index);
  unpoison(memory, link_at(index));
  return memory;
}
}  // namespace CORACLE_FRAME_LINKS()
}  // namespace coracle::detail
