// coracle/core/detail/frame_sizes.hpp -- the sizes to which the memory of frames is rounded up.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

namespace coracle::detail {
// Class sizes are a multiple of 16 plus 8, as in a heap block with an 8-byte header.
//
//   small frames, up to 1,032 bytes         16 bytes apart; the first two classes have the same size
//   large frames, up to 256 KiB + 8 bytes   an eighth of a power of two apart
//
// A thread has a list of free frames for each class, and for each small class a second one, for frames that
// do not fit into the first (frame_cache.hpp). The indices of these lists follow those of the classes.
inline constexpr std::size_t frame_granule = 16, small_classes = 65;
inline constexpr std::size_t steps = 8, large_classes = 8 * steps;  // steps: classes between powers of two
inline constexpr std::size_t frame_classes = small_classes + large_classes;
inline constexpr std::size_t frame_lists = frame_classes + small_classes;

/// The class of a frame of `size` bytes if the result is below `small_classes`; otherwise the frame is large.
constexpr std::size_t frame_class(std::size_t size) noexcept { return (size + 7) / frame_granule; }
/// The class of a large frame of `size` bytes. Requires: size <= largest_kept.
constexpr std::size_t large_class(std::size_t size) noexcept {
  const std::size_t last = size - 9;  // above 1023
  const unsigned shift = static_cast<unsigned>(60 - __builtin_clzll(last));
  return small_classes + (shift - 7) * steps + (last >> shift) - steps;
}
/// The bytes of each frame of a class, or of a list.
constexpr std::size_t class_size(std::size_t index) noexcept {
  if (index < small_classes) return (index == 0 ? 1 : index) * frame_granule + 8;
  if (index >= frame_classes) return class_size(index - frame_classes);
  const std::size_t step = index - small_classes;
  return ((steps + 1 + step % steps) << (7 + step / steps)) + 8;
}
/// The greatest size of which free frames are kept.
inline constexpr std::size_t largest_kept = class_size(frame_classes - 1);
static_assert(large_class(1033) == small_classes && large_class(largest_kept) == frame_classes - 1);
/// What a frame of `size` bytes takes.
constexpr std::size_t rounded_size(std::size_t size) noexcept {
  if (frame_class(size) < small_classes) return class_size(frame_class(size));
  return size > largest_kept ? size : class_size(large_class(size));
}

inline constexpr std::size_t class_budget = 256 * 1024;         ///< bytes in the first list of a small class
inline constexpr std::size_t shared_budget = 16 * 1024 * 1024;  ///< bytes in a thread's other lists together
/// The number of frames in the first list of a small class, at most.
constexpr std::size_t class_capacity(std::size_t index) noexcept { return class_budget / class_size(index); }
static_assert(class_capacity(0) < 0x10000, "a link has 16 bits for the room");
}  // namespace coracle::detail
