// tests/unit/cached_frames.hpp -- takes frames from the thread's recycler and gives them back.
// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/core/frame_memory.hpp>
#include <cstddef>
#include <vector>

namespace coracle_test::cached_frames {
inline void* take(std::size_t size) { return coracle::recycled_frames::operator new(size); }
inline void give(void* frame, std::size_t size) { coracle::recycled_frames::operator delete(frame, size); }
inline void take_all(std::vector<void*>& frames, std::size_t size) {
  for (void*& frame : frames) frame = take(size);
}
inline void give_all(const std::vector<void*>& frames, std::size_t size) {
  for (void* const frame : frames) give(frame, size);
}

/// Empties the cache before and after each test.
struct empty_cache {
  empty_cache() { coracle::trim_frame_memory(); }
  ~empty_cache() { coracle::trim_frame_memory(); }
};

/// The number of frames of a small size that a thread keeps: those of its list, and those that fill the
/// shared budget or one more list.
constexpr std::size_t kept_of(std::size_t size) {
  namespace detail = coracle::detail;
  return detail::class_budget / size + std::min(detail::shared_budget / size, detail::most_in_shared_list);
}
/// Fills the depot up to its budget with frames of a size that no test uses, and returns their number. Until
/// they are taken back, the depot has no room for a list of another size.
inline long long fill_depot() {
  namespace detail = coracle::detail;
  constexpr std::size_t index = detail::frame_classes - 2, size = detail::class_size(index);
  detail::frame_link list;
  for (std::size_t i = 0; i != detail::depot_budget / size; ++i) {
    list = {detail::as_free(take(size), index, list), list.room() + 1};
  }
  const auto kept = detail::frames_for_others.leave(index - detail::first_shared, list, size);
  REQUIRE(kept.below() == nullptr);
  return static_cast<long long>(detail::depot_budget / size);
}
}  // namespace coracle_test::cached_frames
