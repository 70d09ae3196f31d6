// coracle/core/detail/frame_cache.hpp -- the free frames of a thread, and the way to and from the heap.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/base/exchange.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/detail/frame_depot.hpp>
#include <coracle/core/detail/frame_link.hpp>
#include <coracle/core/detail/frame_sizes.hpp>
#include <cstddef>
#include <new>

// Each thread keeps freed frames in lists by size and reuses them. A frame may be freed on another thread
// than the one that allocated it; it then joins the lists of the thread that frees it. Each small class has a
// list of at most `class_budget` bytes. Large frames, and small frames whose list is full, go to lists that
// share one budget, `shared_budget` bytes. When one of these lists grows long, its thread leaves it in the
// depot for a thread that allocates the frames that this one frees. Frames beyond the budget return to the
// global heap, and frames above `largest_kept` are always allocated there.
//
// The functions that the short paths (frame_recycler.hpp) call are templates over the type of the cache, so
// that a program need not compile them: the library contains them for links of one word.
namespace coracle::detail {
/// Lets visit_shown_frames() find the lists of this thread until it ends (src/core/shown_frames.hpp).
void show_free_frames(const void* lists, std::size_t bytes_of_link) noexcept;

/// The memory of a frame that has been destroyed but not freed. Empty if destroying it freed no memory that a
/// cache of frames can keep.
struct kept_memory {
  std::size_t size = 0;
  void (*give_back)(void* frame, std::size_t size) noexcept = nullptr;
};
/// A frame whose memory is to be kept while it is destroyed: core/detail/frame_recycler.hpp. Units with and
/// without AddressSanitizer have separate lists of free frames, and any of them may destroy a frame of the
/// others.
struct frame_keeping {
  /// The lists of this thread that units of one kind use.
  struct lists {
    bool (*take_back)(void* memory) noexcept = nullptr;  ///< sets `kept`, or returns false: not in the lists
    const lists* next = nullptr;
  };
  void* wanted = nullptr;  ///< the frame; null once `kept` is its memory
  kept_memory kept;
  const lists* all = nullptr;  ///< one for each kind of unit that has freed a frame on this thread
};
#if defined(CORACLE_MODEL)
frame_keeping& this_thread_keeping() noexcept;  // a thread of the model checker's has its own
#else
CORACLE_VISIBLE() inline constinit thread_local frame_keeping keeping_of_this_thread{};
CORACLE_ALWAYS_INLINE() frame_keeping& this_thread_keeping() noexcept { return keeping_of_this_thread; }
#endif

inline namespace CORACLE_FRAME_LINKS() {

struct frame_cache {
  frame_link lists[frame_lists];  ///< those that share a budget from `first_shared` on
  std::size_t shared_bytes = 0;   ///< in lists that share a budget
  std::size_t heap_bytes = 0;     ///< that it has taken from the heap since extend_heap()
  bool closed = false;            ///< the thread is ending; cache nothing more
  frame_keeping::lists shown;     ///< the lists of small classes, registered in frame_keeping::all
};
inline constexpr std::size_t first_shared = small_classes, most_in_shared_list = 0xffff;

#if defined(CORACLE_MODEL)
frame_cache& this_thread_frames() noexcept;  // a thread of the model checker's has its own
#else
CORACLE_VISIBLE() inline constinit thread_local frame_cache frames_of_this_thread{};
CORACLE_ALWAYS_INLINE() frame_cache& this_thread_frames() noexcept { return frames_of_this_thread; }
#endif
/// A list's index here is its index in the cache minus `first_shared`.
CORACLE_VISIBLE() inline frame_depot<frame_link, frame_lists - first_shared> frames_for_others{};

// ---- the heap ----

// Adjacent frames in the heap may run on two threads, so frames above a certain size get cache lines of their
// own. For smaller frames the extra memory does not pay. Aligned operator new takes longer and wastes more.
inline constexpr std::size_t cache_line = 64, own_lines_from = 192;
constexpr bool has_own_lines(std::size_t index) noexcept { return class_size(index) >= own_lines_from; }
/// Where a heap block of `cache_line` bytes more than a frame has the frame: on the first line that begins
/// behind its first word.
inline void* frame_in(void* block) noexcept {
  return static_cast<std::byte*>(block) + (cache_line - address_of(block) % cache_line);
}
/// The word in front of a frame that has its own lines: the address of its heap block.
inline void*& block_of(void* frame) noexcept { return static_cast<void**>(frame)[-1]; }

// glibc extends the heap of a thread other than the main one by whole pages, as few as the request takes,
// with a system call each time. It keeps what is free at the heap's end up to 128 KiB. So one large request,
// freed at once, extends it for the many small ones that follow; it touches no page.
inline constexpr std::size_t heap_step = 60 * 1024, heap_header = 8;
inline void extend_heap() noexcept {
#if defined(__GLIBC__)
  if constexpr (!CORACLE_ADDRESS_SANITIZER()) {
    void* unused = __builtin_malloc(heap_step);
    __asm__ volatile("" : "+r"(unused));  // or the compiler drops the pair
    __builtin_free(unused);
  }
#endif
}

/// Returns null if there is no memory.
inline void* new_frame(std::size_t index) noexcept {
  const bool own_lines = has_own_lines(index);
  const std::size_t size = class_size(index) + (own_lines ? cache_line : 0);
  std::size_t& taken = this_thread_frames().heap_bytes;
  taken += size + heap_header;
  if (taken > heap_step) {
    taken = size + heap_header;
    extend_heap();
  }
  void* const block = ::operator new(size, std::nothrow);
  if (!frame_link::can_refer_to(block)) [[unlikely]]
    fail("operator new gave an address of more than 48 bits, which a list of free frames cannot keep");
  if (!own_lines || !block) return block;
  void* const frame = frame_in(block);
  block_of(frame) = block;
  return frame;
}
inline void delete_frame(void* frame, std::size_t index) noexcept {
  ::operator delete(has_own_lines(index) ? block_of(frame) : frame);
}
inline void delete_frames(frame_link list, std::size_t index) noexcept {
  while (frame_link* const frame = list.below()) {
    list = *frame;
    delete_frame(as_memory(frame, index), index);
  }
}
/// Returns every cached frame, and every frame in the depot, to the global heap.
template <class Cache>
void empty_lists(Cache& cache) noexcept {
  for (std::size_t index = 0; index != frame_lists; ++index) {
    delete_frames(detail::exchange(cache.lists[index], {}), index);
    if (index >= first_shared)
      delete_frames(frames_for_others.take(index - first_shared, class_size(index)), index);
  }
  cache.shared_bytes = 0;
}
/// Call before the first frame is kept: shows the lists, and empties them when the thread ends.
inline void close_at_thread_exit() noexcept {
  struct closer {
    closer() noexcept { show_free_frames(this_thread_frames().lists, sizeof(frame_link)); }
    ~closer() {
      frame_cache& ending = this_thread_frames();
      ending.closed = true;
      empty_lists(ending);
    }
  };
  static thread_local closer at_thread_exit;
  static_cast<void>(&at_thread_exit);
}
/// Returns the number of frames in a list of a cache.
inline std::size_t frames_in(const frame_link& list, std::size_t index) noexcept {
  if (!list.below()) return 0;
  return index < first_shared ? class_capacity(index) - list.room() : list.room();
}
/// Returns true if the cached frames, by number or by bytes, are worth a timer that frees them.
template <class Cache>
bool caches_many_frames(const Cache& cache) noexcept {
  constexpr std::size_t many = 32, many_bytes = many * 1024;
  if (cache.shared_bytes + frames_for_others.bytes() >= many_bytes) return true;
  std::size_t count = 0;
  for (std::size_t index = 0; index != first_shared; ++index) count += frames_in(cache.lists[index], index);
  return count >= many;
}

// ---- the lists that share a budget ----

/// Takes the newest frame off a list that is not empty.
inline void* take_shared(frame_cache& cache, std::size_t index) noexcept {
  frame_link* const frame = cache.lists[index].below();
  cache.lists[index] = *frame;
  cache.shared_bytes -= class_size(index);
  return as_memory(frame, index);
}
/// Makes room for a frame by freeing frames of other sizes, which a thread whose work has changed might never
/// reuse. Returns false if the list of this size fills the budget by itself.
inline bool make_room(frame_cache& cache, std::size_t index) noexcept {
  if (cache.lists[index].room() * class_size(index) > shared_budget - class_size(index)) return false;
  std::size_t other = frame_lists;
  while (cache.shared_bytes + class_size(index) > shared_budget) {
    while (other == index || other == frame_lists || !cache.lists[other].below()) {
      if (other-- == first_shared) return false;
    }
    delete_frame(take_shared(cache, other), other);
  }
  return true;
}
/// Makes `list` the thread's list of this size.
inline void replace_shared(frame_cache& cache, std::size_t index, frame_link list) noexcept {
  cache.shared_bytes += (list.room() - cache.lists[index].room()) * class_size(index);
  cache.lists[index] = list;
}
/// Keeps the frame, or returns it to the heap.
inline void put_shared(frame_cache& cache, void* memory, std::size_t index) noexcept {
  frame_link& list = cache.lists[index];
  if (cache.closed || list.room() == most_in_shared_list || !make_room(cache, index))
    return delete_frame(memory, index);
  close_at_thread_exit();
  list = frame_link(as_free(memory, index, list), list.room() + 1);
  cache.shared_bytes += class_size(index);
  replace_shared(cache, index, frames_for_others.leave(index - first_shared, list, class_size(index)));
}
/// Takes a frame from the thread's list, the depot or the heap; returns null if there is no memory. Frames
/// from the depot may take the thread over its budget until it next frees frames.
template <class Cache = frame_cache>
void* allocate_from_shared(std::size_t index) noexcept {
  Cache& cache = this_thread_frames();
  if (!cache.lists[index].below() && !cache.closed) {
    const frame_link taken = frames_for_others.take(index - first_shared, class_size(index));
    if (!taken.below()) return new_frame(index);
    close_at_thread_exit();
    replace_shared(cache, index, taken);
  }
  return cache.lists[index].below() ? take_shared(cache, index) : new_frame(index);
}
}  // namespace CORACLE_FRAME_LINKS()
}  // namespace coracle::detail
