// coracle/core/detail/frame_recycler.hpp -- allocation and release of frames, the short path first.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/base/exchange.hpp>
#include <coracle/core/detail/frame_cache.hpp>
#include <cstddef>
#include <new>

namespace coracle::detail {
inline namespace CORACLE_FRAME_LINKS() {

[[noreturn]] CORACLE_THROWS_ABI() CORACLE_COLD() inline void no_memory() {
  CORACLE_THROW(std::bad_alloc(), "no memory for a coroutine frame");
}

// These return null if there is no memory.
CORACLE_SAVES_REGISTERS() inline void* allocate_from_others(std::size_t index) noexcept {
  return allocate_from_shared(index);
}
CORACLE_SAVES_REGISTERS() inline void* allocate_large_frame(std::size_t size) noexcept {
  return size > largest_kept ? ::operator new(size, std::nothrow) : allocate_from_shared(large_class(size));
}
/// Pops the first frame of its size class. Without one, looks further.
CORACLE_ALWAYS_INLINE() void* allocate_frame(std::size_t size) {
  const std::size_t index = frame_class(size);
  void* memory;
  if (index < small_classes) [[likely]] {
    frame_link& list = this_thread_frames().lists[index];
    frame_link* const frame = list.below();
    if (frame) [[likely]] {
      list = *frame;
      return as_memory(frame, index);
    }
    memory = allocate_from_others(frame_classes + index);
  } else {
    memory = allocate_large_frame(size);
  }
  if (!memory) [[unlikely]]
    no_memory();
  return memory;
}

inline void free_frame_memory(void* memory, std::size_t size) noexcept;
/// Called before memory is freed, except on the shortest path. Returns true if destroy_and_keep() wants the
/// memory: it must then not be freed.
inline bool keeps_frame(void* memory, std::size_t size,
                        void (*give_back)(void*, std::size_t) noexcept = &free_frame_memory) noexcept {
  frame_keeping& keeping = this_thread_keeping();
  if (keeping.wanted != memory) [[likely]]
    return false;
  keeping.wanted = nullptr;
  keeping.kept = kept_memory{size, give_back};
  return true;
}
template <class Cache = frame_cache>
CORACLE_COLD()
void free_large_frame(void* memory, std::size_t size) noexcept {
  if (keeps_frame(memory, size)) return;
  if (size > largest_kept) return ::operator delete(memory);
  put_shared(this_thread_frames(), memory, large_class(size));
}
/// Takes back the frame at `memory`: destroy_and_keep() keeps it. Returns false if it is not in the lists.
inline bool take_back_here(void* memory) noexcept;

/// The list of its size class is full, has not been used yet, or belongs to a thread that is ending.
template <class Cache = frame_cache>
CORACLE_COLD()
void free_frame_without_room(void* memory, std::size_t index) noexcept {
  if (keeps_frame(memory, class_size(index))) return;
  Cache& cache = this_thread_frames();
  frame_link& list = cache.lists[index];
  if (list.below() || cache.closed) return put_shared(cache, memory, frame_classes + index);
  close_at_thread_exit();
  if (!cache.shown.take_back) {
    cache.shown = {&take_back_here, this_thread_keeping().all};
    this_thread_keeping().all = &cache.shown;
  }
  const std::size_t room = class_capacity(index);
  list = frame_link(as_free(memory, index, frame_link(nullptr, room)), room - 1);
}
/// Pushes the frame onto the list of its size class. Without room there, looks further.
CORACLE_ALWAYS_INLINE() void free_frame_memory(void* memory, std::size_t size) noexcept {
  const std::size_t index = frame_class(size);
  if (index >= small_classes) [[unlikely]]
    return free_large_frame(memory, size);
  frame_link& list = this_thread_frames().lists[index];
  const frame_link below = list;
  // Written so that both compilers fuse the subtraction and its test into one instruction.
  std::size_t room;
  if (__builtin_sub_overflow(below.room(), std::size_t{1}, &room)) [[unlikely]]
    return free_frame_without_room(memory, index);
  list = frame_link(as_free(memory, index, below), room);
}

// ---- destroying a frame and keeping its memory ----

/// Takes the frame at `memory` from its list. Returns false if it is not the first one there.
inline bool take_back_from(frame_cache& cache, void* memory, std::size_t index) noexcept {
  frame_link* const first = cache.lists[index].below();
  if (!first || memory_of(first, index) != memory) return false;
  cache.lists[index] = *first;
  as_memory(first, index);
  this_thread_keeping().kept = {class_size(index), &free_frame_memory};
  return true;
}
inline bool take_back_here(void* memory) noexcept {
  for (std::size_t index = 0; index != small_classes; ++index) {
    if (take_back_from(this_thread_frames(), memory, index)) return true;
  }
  return false;
}
/// Looks for the frame that this thread freed last: on the shortest path it is now the first of its list.
/// Most have the size of the one before, since tasks that are stopped together are of one kind.
template <class Cache>
kept_memory take_back_freed(Cache& cache, void* memory) noexcept {
  frame_keeping& keeping = this_thread_keeping();
  if (const std::size_t likely = frame_class(keeping.kept.size);
      likely < small_classes && take_back_from(cache, memory, likely))
    return keeping.kept;
  for (const frame_keeping::lists* each = keeping.all; each; each = each->next) {
    if (each->take_back(memory)) return keeping.kept;
  }
  return {};
}
/// Calls `destroy`, which destroys the frame that begins at `memory`, and keeps the memory. Finding it
/// afterwards spares the shortest path that frees frames a check.
template <class Destroy>
kept_memory destroy_and_keep(void* memory, Destroy destroy) noexcept {
  void* const outer = detail::exchange(this_thread_keeping().wanted, memory);
  destroy();
  frame_keeping& keeping = this_thread_keeping();
  return detail::exchange(keeping.wanted, outer) == nullptr ? keeping.kept
                                                            : take_back_freed(this_thread_frames(), memory);
}

#if CORACLE_ADDRESSES_LEAVE_BITS()  // src/core/frame_cache.cpp
extern template void empty_lists(frame_cache&) noexcept;
extern template bool caches_many_frames(const frame_cache&) noexcept;
extern template void* allocate_from_shared<frame_cache>(std::size_t) noexcept;
extern template void free_large_frame<frame_cache>(void*, std::size_t) noexcept;
extern template void free_frame_without_room<frame_cache>(void*, std::size_t) noexcept;
extern template kept_memory take_back_freed(frame_cache&, void*) noexcept;
#endif
}  // namespace CORACLE_FRAME_LINKS()

#if defined(CORACLE_MODEL)
// The model checker must see each allocation and each release of a frame.
inline void* allocate_recycled(std::size_t size) { return ::operator new(size); }
inline void free_recycled(void* frame, std::size_t size) noexcept {
  if (!keeps_frame(frame, size, &free_recycled)) ::operator delete(frame);
}
#else
/// Fills a frame in checked builds, before it is first written and after it is destroyed, so that a stale
/// read does not find plausible values. The bytes are odd, so that every tag bit of a word is set.
CORACLE_ALWAYS_INLINE()
void* spoil([[maybe_unused]] void* frame, [[maybe_unused]] std::size_t size) noexcept {
  if constexpr (CORACLE_CHECKS()) __builtin_memset(frame, 0xa5, size);
  return frame;
}
CORACLE_ALWAYS_INLINE() void* allocate_recycled(std::size_t size) {
  return spoil(allocate_frame(size), size);
}
CORACLE_ALWAYS_INLINE() void free_recycled(void* frame, std::size_t size) noexcept {
  spoil(frame, size);
  free_frame_memory(frame, size);
}
#endif
/// For objects other than frames, which a program without heap frames may make, too.
struct recycled_memory {
  static void* operator new(std::size_t size) { return allocate_recycled(size); }
  static void operator delete(void* memory, std::size_t size) noexcept { free_recycled(memory, size); }
};
}  // namespace coracle::detail
