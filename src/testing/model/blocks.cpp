// SPDX-License-Identifier: MIT
#include "blocks.hpp"

#include <coracle/base/check.hpp>
#include <coracle/core/frame_memory.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "engine.hpp"

#if CORACLE_ADDRESS_SANITIZER()
#include <sanitizer/lsan_interface.h>
#endif

namespace coracle::testing::model {
namespace {
// Leaks of an execution are determined from the lists below. An abandoned execution also leaves its
// exceptions, which are allocated elsewhere.
#if CORACLE_ADDRESS_SANITIZER()
void leave_leaks_to_us() { __lsan_disable(); }
void end_leave_leaks_to_us() { __lsan_enable(); }
#else
void leave_leaks_to_us() {}
void end_leave_leaks_to_us() {}
#endif

using coracle::detail::poison;
using coracle::detail::unpoison;

constexpr std::uint64_t in_use = 0x636f7261636c6500, was_freed = in_use + 1;
struct alignas(std::max_align_t) block {
  block* next;
  block** link;  // null: belongs to no execution
  void* memory;  // the result of std::malloc
  std::size_t size;
  std::uint64_t mark;
};
bool listing = false;
block* first_listed = nullptr;
block* first_freed = nullptr;

void list(block& each) noexcept {
  each.next = first_listed;
  each.link = &first_listed;
  if (first_listed) first_listed->link = &each.next;
  first_listed = &each;
}
void unlist(block& each) noexcept {
  *each.link = each.next;
  if (each.next) each.next->link = each.link;
}
bool is_untouched(const block& each) noexcept {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&each + 1);
  return each.size == 0 || (bytes[0] == freed_byte && std::memcmp(bytes, bytes + 1, each.size - 1) == 0);
}
/// Returns null if none of that size has been freed, or if the last one has been written to since.
block* take_freed(std::size_t size) noexcept {
  if (CORACLE_ADDRESS_SANITIZER()) return nullptr;
  block** link = &first_freed;
  while (*link && (*link)->size != size) link = &(*link)->next;
  return *link && is_untouched(**link) ? std::exchange(*link, (*link)->next) : nullptr;
}
void* allocate(std::size_t size, std::align_val_t alignment = std::align_val_t{alignof(block)}) noexcept {
  const auto to = static_cast<std::size_t>(alignment), extra = to > alignof(block) ? to : 0;
  if (block* const again = listing && extra == 0 ? take_freed(size) : nullptr) {
    again->mark = in_use;
    list(*again);
    return again + 1;
  }
  void* const memory = std::malloc(sizeof(block) + size + extra);
  if (!memory) return nullptr;
  const auto from = reinterpret_cast<std::uintptr_t>(memory) + sizeof(block);
  auto* const made = reinterpret_cast<block*>((from + extra) / to * to) - 1;
  made->memory = memory;
  made->link = nullptr;
  made->size = size;
  made->mark = in_use;
  if (listing) list(*made);
  return made + 1;
}
template <class... Alignment>
void* allocate_or_throw(std::size_t size, Alignment... alignment) {
  void* const memory = allocate(size, alignment...);
  if (!memory) throw std::bad_alloc{};
  return memory;
}
[[noreturn]] void fail_free(const char* what, const void* memory) noexcept {
  if (listing) model_engine::current()->fail(what, memory);
  coracle::detail::fail(what);
}
void release(void* memory) noexcept {
  if (!memory) return;
  block* const each = static_cast<block*>(memory) - 1;
  if (listing) model_engine::current()->note_free(memory);
  if (each->mark == was_freed) fail_free("double free", memory);
  if (each->mark != in_use) fail_free("free of memory that operator new did not allocate", memory);
  if (listing && !CORACLE_ADDRESS_SANITIZER())  // which does not let it look at all of it
    model_engine::current()->end_all_in(memory, each->size);
  each->mark = was_freed;
  if (!each->link) return std::free(each->memory);
  unlist(*each);
  each->next = std::exchange(first_freed, each);
  unpoison(memory, each->size);  // the count in front of an array is
  std::memset(memory, freed_byte, each->size);
  poison(memory, each->size);
}
}  // namespace

void model_blocks::begin_execution() noexcept {
  leave_leaks_to_us();
  listing = true;
}
model_blocks::remains model_blocks::end_execution(bool give_up) noexcept {
  listing = false;
  end_leave_leaks_to_us();
  remains result;
  while (first_listed) {
    block* const each = std::exchange(first_listed, first_listed->next);
    each->link = nullptr;  // from now on belongs to no execution
    ++result.not_freed;
    result.bytes += each->size;
    if (give_up) std::free(each->memory);
  }
  while (first_freed) {
    block* const each = std::exchange(first_freed, first_freed->next);
    unpoison(each + 1, each->size);
    if (!is_untouched(*each)) result.written_after_free = true;
    std::free(each->memory);
  }
  return result;
}
const void* model_blocks::freed_block_of(const void* at) noexcept {
  for (const block* each = first_freed; each; each = each->next) {
    const auto begin = reinterpret_cast<std::uintptr_t>(each + 1),
               here = reinterpret_cast<std::uintptr_t>(at);
    if (begin <= here && here < begin + each->size) return each + 1;
  }
  return nullptr;
}

model_own_work::model_own_work() noexcept : outer_(std::exchange(listing, false)) {}
model_own_work::~model_own_work() { listing = outer_; }
}  // namespace coracle::testing::model

using coracle::testing::model::allocate;
using coracle::testing::model::allocate_or_throw;
using coracle::testing::model::release;

void* operator new(std::size_t size) { return allocate_or_throw(size); }
void* operator new[](std::size_t size) { return allocate_or_throw(size); }
void* operator new(std::size_t size, std::align_val_t to) { return allocate_or_throw(size, to); }
void* operator new[](std::size_t size, std::align_val_t to) { return allocate_or_throw(size, to); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
