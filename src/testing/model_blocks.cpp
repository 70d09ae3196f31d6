// SPDX-License-Identifier: MIT
#include "model_blocks.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace coracle::testing::model {
namespace {
struct alignas(std::max_align_t) block {
  block* next;
  block** link;  // null: it belongs to no execution
  void* memory;  // what std::malloc gave
};
bool listing = false;
block* first = nullptr;

void unlist(block& each) noexcept {
  if (!each.link) return;
  *each.link = each.next;
  if (each.next) each.next->link = each.link;
}
void* allocate(std::size_t size, std::align_val_t alignment = std::align_val_t{alignof(block)}) noexcept {
  const auto to = static_cast<std::size_t>(alignment), extra = to > alignof(block) ? to : 0;
  void* const memory = std::malloc(sizeof(block) + size + extra);
  if (!memory) return nullptr;
  const auto from = reinterpret_cast<std::uintptr_t>(memory) + sizeof(block);
  auto* const made = reinterpret_cast<block*>((from + extra) / to * to) - 1;
  made->memory = memory;
  made->link = nullptr;
  if (listing) {
    made->next = first;
    made->link = &first;
    if (first) first->link = &made->next;
    first = made;
  }
  return made + 1;
}
template <class... Alignment>
void* allocate_or_throw(std::size_t size, Alignment... alignment) {
  void* const memory = allocate(size, alignment...);
  if (!memory) throw std::bad_alloc{};
  return memory;
}
void release(void* memory) noexcept {
  if (!memory) return;
  block* const each = static_cast<block*>(memory) - 1;
  unlist(*each);
  std::free(each->memory);
}
}  // namespace

void model_blocks::begin_execution() noexcept { listing = true; }
std::size_t model_blocks::end_execution(bool give_up) noexcept {
  listing = false;
  std::size_t count = 0;
  for (block* each = first; each; ++count) {
    block* const next = each->next;
    each->link = nullptr;  // belongs to nobody from here on
    if (give_up) std::free(each->memory);
    each = next;
  }
  first = nullptr;
  return count;
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
