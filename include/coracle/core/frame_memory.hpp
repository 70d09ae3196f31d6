// coracle/core/frame_memory.hpp -- memory for coroutine frames: a per-thread recycler.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/core/detail/frame_depot.hpp>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#if CORACLE_ADDRESS_SANITIZER()
#include <sanitizer/asan_interface.h>
#endif

namespace coracle {
namespace detail {
// Each thread keeps freed frames in lists by size and reuses them. A frame may be freed on another thread
// than the one that allocated it; it then joins the lists of the thread that frees it. Small frames have size
// classes 16 bytes apart, each with a list of at most `class_budget` bytes. Large frames, from 1,024 bytes to
// 256 KiB, have size classes an eighth of a power of two apart. Large frames, and small frames whose list is
// full, go to lists that share one budget, `shared_budget` bytes. When one of these lists grows long, its
// thread leaves it in the depot for a thread that allocates the frames that this one frees. Frames beyond the
// budget return to the global heap, and larger frames are always allocated there.
inline constexpr std::size_t frame_granule = 16, small_classes = 65, class_budget = 256 * 1024;
inline constexpr std::size_t steps = 8, large_classes = 8 * steps, shared_budget = 16 * 1024 * 1024;
inline constexpr std::size_t frame_classes = small_classes + large_classes;
inline constexpr std::size_t frame_lists =
    frame_classes + small_classes;  // the last small_classes lists: overflow of the first ones

// Translation units with and without AddressSanitizer use separate lists, even within one program.
#if CORACLE_ADDRESSES_LEAVE_BITS()
inline namespace links_of_one_word {
#else
inline namespace links_of_two_words {
#endif

/// The head of a list, and the link in each free frame: the frame below, and the number of frames for which
/// there is room above. A push therefore needs no separate counter, and a pop restores the previous room. A
/// list without room is full or, if it is empty, has not been used yet (zeroed memory). In the lists that
/// share a budget the number is not the room but the length: the number of frames from this one to the end.
class frame_link {
 public:
  constexpr frame_link() noexcept = default;
#if CORACLE_ADDRESSES_LEAVE_BITS()
  frame_link(frame_link* below, std::size_t room) noexcept
      : word_(reinterpret_cast<std::uint64_t>(below) << 16 | room) {}
  [[nodiscard]] frame_link* below() const noexcept { return reinterpret_cast<frame_link*>(word_ >> 16); }
  [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::uint16_t>(word_); }
  static bool can_refer_to(const void* frame) noexcept {
    return reinterpret_cast<std::uint64_t>(frame) >> 48 == 0;
  }

 private:
  std::uint64_t word_ = 0;
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
/// The memory of a frame that has been destroyed but not freed. Empty if destroying it freed no memory that
/// this cache can keep.
struct kept_memory {
  std::size_t size = 0;
  void (*give_back)(void* frame, std::size_t size) noexcept = nullptr;
};
struct frame_cache {
  frame_link lists[frame_lists];
  std::size_t shared_bytes = 0;  ///< in lists that share a budget
  bool closed = false;           ///< the thread is ending; cache nothing more
  void* keeps = nullptr;         ///< a frame that is being destroyed and whose memory must not be freed
  kept_memory kept;              ///< the memory of that frame
};

CORACLE_VISIBLE() inline constinit thread_local frame_cache frames_of_this_thread{};
CORACLE_THREAD_LOCAL_ACCESS() inline frame_cache& this_thread_frames() noexcept {
  return frames_of_this_thread;
}

inline void poison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) noexcept {
#if CORACLE_ADDRESS_SANITIZER()
  __asan_poison_memory_region(memory, size);
#endif
}
inline void unpoison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) noexcept {
#if CORACLE_ADDRESS_SANITIZER()
  __asan_unpoison_memory_region(memory, size);
#endif
}

// Class sizes are a multiple of 16 plus 8, as in a heap block with an 8-byte header. The first two classes
// have the same size.
constexpr std::size_t frame_class(std::size_t size) noexcept { return (size + 7) / frame_granule; }
/// The class of a frame for which frame_class() returns `small_classes` or more.
constexpr std::size_t large_class(std::size_t size) noexcept {
  const std::size_t last = size - 9;  // above 1023
  const unsigned shift = static_cast<unsigned>(60 - __builtin_clzll(last));
  return small_classes + (shift - 7) * steps + (last >> shift) - steps;
}
constexpr std::size_t class_size(std::size_t index) noexcept {
  if (index < small_classes) return (index == 0 ? 1 : index) * frame_granule + 8;
  if (index >= frame_classes) return class_size(index - frame_classes);
  const std::size_t step = index - small_classes;
  return ((steps + 1 + step % steps) << (7 + step / steps)) + 8;
}
inline constexpr std::size_t largest_kept = class_size(frame_classes - 1);
constexpr std::size_t class_capacity(std::size_t index) noexcept { return class_budget / class_size(index); }
static_assert(class_capacity(0) < 0x10000, "a link has 16 bits for the room");
static_assert(large_class(1033) == small_classes && large_class(largest_kept) == frame_classes - 1);

// Under AddressSanitizer the link stands at the end of a free frame, and everything before it is poisoned.
// The leak checker does not read poisoned memory, and would otherwise report what the lists of live threads
// refer to.
constexpr std::size_t link_at(std::size_t index) noexcept {
  return CORACLE_ADDRESS_SANITIZER() ? class_size(index) - sizeof(frame_link) : 0;
}
CORACLE_ALWAYS_INLINE() frame_link* as_free(void* memory, std::size_t index) noexcept {
  poison(memory, link_at(index));
  return reinterpret_cast<frame_link*>(static_cast<std::byte*>(memory) + link_at(index));
}
CORACLE_ALWAYS_INLINE() void* as_memory(frame_link* frame, std::size_t index) noexcept {
  void* const memory = reinterpret_cast<std::byte*>(frame) - link_at(index);
  unpoison(memory, link_at(index));
  return memory;
}

// Adjacent frames in the heap may run on two threads, so frames above a certain size get cache lines of their
// own. The word in front of such a frame stores the address of its heap block. For smaller frames the extra
// memory does not pay. Aligned operator new takes longer and wastes more.
inline constexpr std::size_t cache_line = 64, own_lines_from = 192;
constexpr bool has_own_lines(std::size_t index) noexcept { return class_size(index) >= own_lines_from; }
/// Returns null if there is no memory.
CORACLE_SAVES_REGISTERS() inline void* new_frame(std::size_t index) noexcept {
  const bool own_lines = has_own_lines(index);
  void* const block = ::operator new(class_size(index) + (own_lines ? cache_line : 0), std::nothrow);
  if (!frame_link::can_refer_to(block)) [[unlikely]]
    fail("operator new gave an address of more than 48 bits, which a list of free frames cannot keep");
  if (!own_lines || !block) return block;
  const std::uintptr_t line = (reinterpret_cast<std::uintptr_t>(block) / cache_line + 1) * cache_line;
  void** const frame = reinterpret_cast<void**>(line);
  frame[-1] = block;
  return frame;
}
inline void delete_frame(void* frame, std::size_t index) noexcept {
  ::operator delete(has_own_lines(index) ? static_cast<void**>(frame)[-1] : frame);
}

/// A list's index in the depot is its index in the cache minus this. All lists but the primary ones of small
/// frames have a place there.
inline constexpr std::size_t first_shared = small_classes, most_in_shared_list = 0xffff;
CORACLE_VISIBLE() inline frame_depot<frame_link, frame_lists - first_shared> frames_for_others{};

inline void delete_frames(frame_link list, std::size_t index) noexcept {
  while (frame_link* const frame = list.below()) {
    list = *frame;
    delete_frame(as_memory(frame, index), index);
  }
}
/// Returns every cached frame, and every frame in the depot, to the global heap.
inline void empty_lists(frame_cache& cache) noexcept {
  for (std::size_t index = 0; index != frame_lists; ++index) {
    delete_frames(std::exchange(cache.lists[index], {}), index);
    if (index >= first_shared)
      delete_frames(frames_for_others.take(index - first_shared, class_size(index)), index);
  }
  cache.shared_bytes = 0;
}

/// Returns true if the cached frames, by number or by bytes, are worth a timer that frees them.
inline bool caches_many_frames(const frame_cache& cache) noexcept {
  constexpr std::size_t many = 32, many_bytes = many * 1024;
  if (cache.shared_bytes + frames_for_others.bytes() >= many_bytes) return true;
  std::size_t count = 0;
  for (std::size_t index = 0; index != small_classes; ++index) {
    const frame_link list = cache.lists[index];
    if (list.below()) count += class_capacity(index) - list.room();
  }
  return count >= many;
}

inline void close_at_thread_exit() noexcept {
  struct closer {
    ~closer() {
      frame_cache& ending = this_thread_frames();
      ending.closed = true;
      empty_lists(ending);
    }
  };
  static thread_local closer at_thread_exit;
  static_cast<void>(&at_thread_exit);
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
  std::size_t other = frame_lists;
  while (cache.shared_bytes + class_size(index) > shared_budget) {
    while (other == index || other == frame_lists || !cache.lists[other].below()) {
      if (other-- == small_classes) return false;
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
inline void put_shared(frame_cache& cache, void* memory, std::size_t index) noexcept {
  frame_link& list = cache.lists[index];
  if (cache.closed || list.room() == most_in_shared_list || !make_room(cache, index))
    return delete_frame(memory, index);
  close_at_thread_exit();
  frame_link* const frame = as_free(memory, index);
  *frame = list;
  list = frame_link(frame, list.room() + 1);
  cache.shared_bytes += class_size(index);
  replace_shared(cache, index, frames_for_others.leave(index - first_shared, list, class_size(index)));
}
/// Returns null if there is no memory. Frames from the depot may take the thread over its budget until it
/// next frees frames.
CORACLE_SAVES_REGISTERS() inline void* allocate_from_shared(std::size_t index) noexcept {
  frame_cache& cache = this_thread_frames();
  if (!cache.lists[index].below() && !cache.closed) {
    const frame_link taken = frames_for_others.take(index - first_shared, class_size(index));
    if (!taken.below()) return new_frame(index);
    close_at_thread_exit();
    replace_shared(cache, index, taken);
  }
  return cache.lists[index].below() ? take_shared(cache, index) : new_frame(index);
}
/// Returns null if there is no memory.
CORACLE_SAVES_REGISTERS() inline void* allocate_large_frame(std::size_t size) noexcept {
  return size > largest_kept ? ::operator new(size, std::nothrow) : allocate_from_shared(large_class(size));
}
inline void free_frame_memory(void* memory, std::size_t size) noexcept;
/// Called before memory is freed, except on the shortest path. Returns true if the memory must be kept.
inline bool keeps_frame(void* memory, std::size_t size,
                        void (*give_back)(void*, std::size_t) noexcept = &free_frame_memory) noexcept {
  frame_cache& cache = this_thread_frames();
  if (cache.keeps != memory) [[likely]]
    return false;
  cache.keeps = nullptr;
  cache.kept = kept_memory{size, give_back};
  return true;
}
CORACLE_COLD() inline void free_large_frame(void* memory, std::size_t size) noexcept {
  if (keeps_frame(memory, size)) return;
  if (size > largest_kept) return ::operator delete(memory);
  put_shared(this_thread_frames(), memory, large_class(size));
}

[[noreturn]] CORACLE_COLD() inline void no_memory() {
#if CORACLE_EXCEPTIONS()
  throw std::bad_alloc();
#else
  fail("no memory for a coroutine frame");
#endif
}

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
    memory = allocate_from_shared(frame_classes + index);
  } else {
    memory = allocate_large_frame(size);
  }
  if (!memory) [[unlikely]]
    no_memory();
  return memory;
}
CORACLE_ALWAYS_INLINE()
void put_on(frame_link& list, frame_link below, std::size_t room, void* memory, std::size_t index) noexcept {
  frame_link* const frame = as_free(memory, index);
  *frame = below;
  list = frame_link(frame, room);
}
CORACLE_COLD() inline void free_frame_without_room(void* memory, std::size_t index) noexcept {
  if (keeps_frame(memory, class_size(index))) return;
  frame_cache& cache = this_thread_frames();
  frame_link& list = cache.lists[index];
  if (list.below() || cache.closed) return put_shared(cache, memory, frame_classes + index);
  close_at_thread_exit();
  const std::size_t room = class_capacity(index);
  put_on(list, frame_link(nullptr, room), room - 1, memory, index);
}
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
  put_on(list, below, room, memory, index);
}

/// Looks for the frame that this thread freed last: on the shortest path it is now the first of its list.
inline kept_memory take_back_freed(frame_cache& cache, void* memory) noexcept {
  for (std::size_t index = 0; index != small_classes; ++index) {
    frame_link* const first = cache.lists[index].below();
    if (!first || reinterpret_cast<std::byte*>(first) - link_at(index) != memory) continue;
    cache.lists[index] = *first;
    as_memory(first, index);
    return {class_size(index), &free_frame_memory};
  }
  return {};
}
/// Calls `destroy`, which destroys the frame that begins at `memory`, and keeps the memory. Finding it
/// afterwards spares the shortest path that frees frames a check.
template <class Destroy>
kept_memory destroy_and_keep(void* memory, Destroy destroy) noexcept {
  void* const outer = std::exchange(this_thread_frames().keeps, memory);
  destroy();
  frame_cache& cache = this_thread_frames();
  return std::exchange(cache.keeps, outer) == nullptr ? cache.kept : take_back_freed(cache, memory);
}

}  // inline namespace

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
#if CORACLE_CHECKS()
  __builtin_memset(frame, 0xa5, size);
#endif
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
}  // namespace detail

/// Returns to the global heap the frames that the calling thread has cached and those in the depot. Pool
/// threads that have more than a few do so themselves when they have been idle for a while. Leak checkers
/// other than AddressSanitizer's report frames cached by threads that are still running when the program
/// ends.
inline void trim_frame_memory() noexcept { detail::empty_lists(detail::this_thread_frames()); }

/// Fills the calling thread's recycler until it has at least `count` free frames of `bytes` bytes, or fewer if it
/// keeps no more of that size or memory runs out.
inline void reserve_frame_memory(std::size_t bytes, std::size_t count) noexcept {
  const std::size_t size = bytes < sizeof(void*) ? sizeof(void*) : bytes;
  void* newest = nullptr;
  CORACLE_TRY() {
    for (std::size_t i = 0; i != count; ++i) {
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

/// Promise part: frames come from the calling thread's recycler and return to the thread that frees them.
/// Threads     a frame may be freed on any thread.
/// Exceptions  std::bad_alloc.
/// Cost        a list pop and a list push, no lock; frames above 256 KiB come from the global heap. A thread
///             keeps at most 256 KiB of each of 65 sizes up to 1032 bytes, and 16 MiB more of all sizes
///             together; the process keeps 16 MiB more for frames that one thread allocates and another
///             frees. Sizes above 1032 bytes are rounded up by at most an eighth. A frame of more than 184
///             bytes gets cache lines of its own, and takes 64 bytes more.
/// With CORACLE_ENABLE_HEAP_FRAMES=0 an object that would get such memory does not compile: docs/without-a-heap.md.
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
}  // namespace coracle
