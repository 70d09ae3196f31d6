// coracle/core/frame_memory.hpp -- where coroutine frames live: a recycler for each thread, or an allocator
// of the caller's.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/detail/allocator_arg.hpp>
#include <coracle/detail/check.hpp>
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
// A thread keeps freed frames in lists by size, 16 bytes apart, and hands them out again. A frame may be
// freed on another thread than it was allocated on: it joins the lists of the thread that frees it. At most
// `class_budget` bytes of each size are kept, the rest goes back to the global heap.
//
// Only frees are counted, by taking one from `room`. When that is used up, the list is counted: its front
// stays, and the rest moves to the store, from which an empty list is filled. So a count walks over frames
// that it has not seen before, or over one eighth of the budget once in three eighths of it.
inline constexpr std::size_t frame_granule = 16, frame_classes = 65, class_budget = 256 * 1024;

struct free_frame {
  free_frame* next;
};
struct frame_list {
  free_frame* head = nullptr;
  std::int32_t room = 0;  ///< frames that may be put here before the list is counted
};
struct frame_store {
  free_frame* head = nullptr;
  std::int32_t count = 0;
};
struct frame_cache {
  frame_list lists[frame_classes];
  frame_store stores[frame_classes];
  bool open = false;    ///< it closes when the thread ends
  bool closed = false;  ///< the thread is ending: cache nothing any more
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

// Eight more than a multiple of 16, as a heap block is of which 8 bytes are the heap's.
constexpr std::size_t frame_class(std::size_t size) noexcept { return (size + 7) / frame_granule; }
constexpr std::size_t class_size(std::size_t index) noexcept { return index * frame_granule + 8; }

// A free frame is a link of its list. Under AddressSanitizer that is its end, and all before it is poisoned: the leak
// checker reads no poisoned memory, and would report what the lists of living threads hold.
constexpr std::size_t link_at(std::size_t index) noexcept {
  return CORACLE_ADDRESS_SANITIZER() ? class_size(index) - sizeof(free_frame) : 0;
}
CORACLE_ALWAYS_INLINE() free_frame* as_free(void* memory, std::size_t index) noexcept {
  poison(memory, link_at(index));
  return reinterpret_cast<free_frame*>(static_cast<std::byte*>(memory) + link_at(index));
}
CORACLE_ALWAYS_INLINE() void* as_memory(free_frame* frame, std::size_t index) noexcept {
  void* const memory = reinterpret_cast<std::byte*>(frame) - link_at(index);
  unpoison(memory, link_at(index));
  return memory;
}
constexpr std::int32_t class_capacity(std::size_t index) noexcept {
  return static_cast<std::int32_t>(class_budget / class_size(index));
}
/// How many stay in a list that is counted, or come back from the store at once.
constexpr std::int32_t front_capacity(std::size_t index) noexcept { return class_capacity(index) / 8; }

/// Cuts a list behind its first `most` frames. `rest` gets the others; returns how many stay.
inline std::int32_t cut(free_frame* head, std::int32_t most, free_frame*& rest) noexcept {
  rest = nullptr;
  if (!head) return 0;
  std::int32_t kept = 1;
  while (kept != most) {
    if (!head->next) return kept;
    head = head->next;
    ++kept;
  }
  rest = head->next;
  head->next = nullptr;
  return kept;
}

// Frames that lie side by side in the heap may come to run on two threads, so from some size on they have cache lines of
// their own. In front of such a frame stands where its block begins. What is smaller is not worth so much more memory.
// The heap's own way to align takes longer and wastes more.
inline constexpr std::size_t cache_line = 64, own_lines_from = 192;
constexpr bool has_own_lines(std::size_t index) noexcept { return class_size(index) >= own_lines_from; }
/// Null: no memory.
inline void* new_frame(std::size_t index) noexcept {
  if (!has_own_lines(index)) return ::operator new(class_size(index), std::nothrow);
  void* const block = ::operator new(class_size(index) + cache_line, std::nothrow);
  if (!block) return nullptr;
  const std::uintptr_t line = (reinterpret_cast<std::uintptr_t>(block) / cache_line + 1) * cache_line;
  void** const frame = reinterpret_cast<void**>(line);
  frame[-1] = block;
  return frame;
}
inline void delete_frame(void* frame, std::size_t index) noexcept {
  ::operator delete(has_own_lines(index) ? static_cast<void**>(frame)[-1] : frame);
}
inline void delete_list(free_frame*& list, std::size_t index) noexcept {
  free_frame* frame = list;
  list = nullptr;
  while (frame) {
    free_frame* const next = frame->next;
    delete_frame(as_memory(frame, index), index);
    frame = next;
  }
}

/// Gives every cached frame back to the global heap.
inline void empty_lists(frame_cache& cache) noexcept {
  for (std::size_t index = 0; index != frame_classes; ++index) {
    delete_list(cache.lists[index].head, index);
    delete_list(cache.stores[index].head, index);
    cache.stores[index].count = 0;
  }
}

/// As many frames as are worth a timer. Looks at no more of them than that.
inline bool caches_many_frames(const frame_cache& cache) noexcept {
  constexpr int many = 32;
  int count = 0;
  for (std::size_t index = 0; index != frame_classes; ++index) {
    for (const free_frame* each : {cache.lists[index].head, cache.stores[index].head}) {
      for (; each; each = each->next) {
        if (++count == many) return true;
      }
    }
  }
  return false;
}

/// First use on a thread: arranges that the cache closes when the thread ends. False: it has closed.
inline bool open_cache(frame_cache& cache) noexcept {
  if (cache.closed) return false;
  if (cache.open) return true;
  struct closer {
    ~closer() {
      frame_cache& ending = this_thread_frames();
      ending.closed = true;
      empty_lists(ending);
      for (frame_list& list : ending.lists) list.room = 0;
    }
  };
  static thread_local closer at_thread_exit;
  static_cast<void>(&at_thread_exit);
  cache.open = true;
  return true;
}

/// Counts a list: its front stays, the rest goes to the store or, where that is full, to the global heap.
inline void count_list(frame_list& list, frame_store& store, std::size_t index) noexcept {
  const std::int32_t half = class_capacity(index) / 2;
  free_frame* rest;
  list.room = half - cut(list.head, front_capacity(index), rest);
  while (rest) {
    if (store.count == half) return delete_list(rest, index);
    free_frame* const next = rest->next;
    rest->next = store.head;
    store.head = rest;
    ++store.count;
    rest = next;
  }
}

[[noreturn]] CORACLE_COLD() inline void no_memory() {
#if CORACLE_EXCEPTIONS()
  throw std::bad_alloc();
#else
  fail("no memory for a coroutine frame");
#endif
}
CORACLE_SAVES_REGISTERS() inline void* new_large_frame(std::size_t size) noexcept {
  return ::operator new(size, std::nothrow);
}
/// For an empty list: from the store, or else new. Null: no memory.
CORACLE_SAVES_REGISTERS() inline void* stored_or_new_frame(std::size_t index) noexcept {
  frame_cache& cache = this_thread_frames();
  frame_list& list = cache.lists[index];
  frame_store& store = cache.stores[index];
  free_frame* const frame = store.head;
  if (!frame) return new_frame(index);
  const std::int32_t moved = cut(frame, front_capacity(index), store.head);
  store.count -= moved;
  const std::int32_t room = class_capacity(index) / 2 - moved;
  if (room < list.room) list.room = room;
  list.head = frame->next;
  return as_memory(frame, index);
}
CORACLE_COLD() inline void delete_large_frame(void* frame) noexcept { ::operator delete(frame); }
CORACLE_COLD() inline void count_and_free_frame(void* memory, std::size_t index) noexcept {
  frame_cache& cache = this_thread_frames();
  frame_list& list = cache.lists[index];
  list.room = 0;
  if (!open_cache(cache)) return delete_frame(memory, index);
  count_list(list, cache.stores[index], index);
  free_frame* const frame = as_free(memory, index);
  frame->next = list.head;
  list.head = frame;
  --list.room;
}

CORACLE_ALWAYS_INLINE() void* allocate_frame(std::size_t size) {
  const std::size_t index = frame_class(size);
  void* memory;
  if (index < frame_classes) [[likely]] {
    frame_list& list = this_thread_frames().lists[index];
    free_frame* const frame = list.head;
    if (frame) [[likely]] {
      list.head = frame->next;
      return as_memory(frame, index);
    }
    memory = stored_or_new_frame(index);
  } else {
    memory = new_large_frame(size);
  }
  if (!memory) [[unlikely]]
    no_memory();
  return memory;
}
CORACLE_ALWAYS_INLINE() void free_frame_memory(void* memory, std::size_t size) noexcept {
  const std::size_t index = frame_class(size);
  if (index >= frame_classes) [[unlikely]]
    return delete_large_frame(memory);
  frame_list& list = this_thread_frames().lists[index];
  // Written so that both compilers make one instruction of the subtraction and its test.
  list.room = static_cast<std::int32_t>(static_cast<std::uint32_t>(list.room) - 1);
  if (list.room < 0) [[unlikely]]
    return count_and_free_frame(memory, index);
  free_frame* const frame = as_free(memory, index);
  frame->next = list.head;
  list.head = frame;
}

#if defined(CORACLE_MODEL)
// The model checker is to see each frame come and go.
inline void* allocate_recycled(std::size_t size) { return ::operator new(size); }
inline void free_recycled(void* frame, std::size_t) noexcept { ::operator delete(frame); }
#else
/// In builds with checks, before a frame is written and when it is gone: so that who reads it then does not find what looks
/// right. Odd bytes: each mark that is kept in a word is set.
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
}  // namespace detail

/// Gives the frames that the calling thread has cached back to the global heap. Pool threads that have more than a few do
/// it by themselves when they have been idle for a while.
inline void trim_frame_memory() noexcept { detail::empty_lists(detail::this_thread_frames()); }

/// Promise part: frames come from the calling thread's recycler and return to the thread that frees them.
/// Threads     a frame may be freed on any thread.
/// Exceptions  std::bad_alloc.
/// Cost        a list pop and a list push, no lock; at most 256 KiB are kept for each of 65 sizes
///             up to 1032 bytes. A frame of more than 184 bytes has cache lines of its own, and takes 64 bytes
///             more.
struct recycled_frames {
  static void* operator new(std::size_t size) { return detail::allocate_recycled(size); }
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

namespace detail {
template <class Allocator, class T>
concept has_rebind = requires { typename Allocator::template rebind<T>::other; };
template <class Allocator, class T>
struct rebound {
  using type = typename Allocator::template rebind<T>::other;
};
template <template <class, class...> class Allocator, class U, class... Rest, class T>
  requires(!has_rebind<Allocator<U, Rest...>, T>)
struct rebound<Allocator<U, Rest...>, T> {
  using type = Allocator<T, Rest...>;
};

/// `Promise` whose frames come from a copy of `Allocator`, kept behind the frame until it is freed.
template <class Promise, class Allocator>
struct allocated_promise : Promise {
  using Promise::Promise;

  // Always inlined, because g++ warns where a placement form of new meets a plain delete.
  template <class... Args>
  CORACLE_ALWAYS_INLINE()
  static void* operator new(std::size_t size, std::allocator_arg_t, const Allocator& given, const Args&...) {
    return allocate(size, given);
  }
  template <class This, class... Args>
  CORACLE_ALWAYS_INLINE()
  static void* operator new(std::size_t size, const This&, std::allocator_arg_t, const Allocator& given,
                            const Args&...) {
    return allocate(size, given);
  }
  static void operator delete(void* frame, std::size_t size) noexcept {
    auto* const kept = reinterpret_cast<unit_allocator*>(static_cast<std::byte*>(frame) + kept_at(size));
    unit_allocator allocator(std::move(*kept));
    kept->~unit_allocator();
    allocator.deallocate(static_cast<unit*>(frame), units(size));
  }

 private:
  struct alignas(std::max_align_t) unit {
    std::byte bytes[alignof(std::max_align_t)];
  };
  using unit_allocator = typename rebound<Allocator, unit>::type;
  static_assert(std::is_same_v<decltype(std::declval<unit_allocator&>().allocate(1)), unit*>,
                "a coroutine frame needs an allocator whose pointers are plain pointers");
  static_assert(alignof(unit_allocator) <= alignof(unit), "the allocator itself is over-aligned");

  static constexpr std::size_t kept_at(std::size_t size) noexcept {
    return (size + alignof(unit_allocator) - 1) / alignof(unit_allocator) * alignof(unit_allocator);
  }
  static constexpr std::size_t units(std::size_t size) noexcept {
    return (kept_at(size) + sizeof(unit_allocator) + sizeof(unit) - 1) / sizeof(unit);
  }
  // Never inlined, or g++ at -O1 with ASan sees the plain delete meet the allocator, and warns.
  CORACLE_NOINLINE() static void* allocate(std::size_t size, const Allocator& given) {
    unit_allocator allocator(given);
    unit* const frame = allocator.allocate(units(size));
    ::new (reinterpret_cast<std::byte*>(frame) + kept_at(size)) unit_allocator(std::move(allocator));
    return frame;
  }
};
}  // namespace detail
}  // namespace coracle
