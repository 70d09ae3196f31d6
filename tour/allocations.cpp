// tour/allocations.cpp -- every allocation of the program, counted: the global operators new and delete.
// SPDX-License-Identifier: MIT
#include "allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
std::atomic<bool> counting{false};
std::atomic<std::uint64_t> counted_calls{0}, counted_bytes{0};
constinit thread_local bool memory_is_gone = false;

void note(std::size_t size) {
  if (memory_is_gone) throw std::bad_alloc();
  if (!counting.load(std::memory_order_relaxed)) return;
  counted_calls.fetch_add(1, std::memory_order_relaxed);
  counted_bytes.fetch_add(size, std::memory_order_relaxed);
}
void* checked(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t size) {
  note(size);
  return checked(std::malloc(size ? size : 1));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return ::operator new(size);
  } catch (...) {
    return nullptr;
  }
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  note(size);
  const auto boundary = static_cast<std::size_t>(alignment);
  return checked(std::aligned_alloc(boundary, (size + boundary - 1) / boundary * boundary));
}
void* operator new[](std::size_t size) { return ::operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace tour {
allocation_count::allocation_count() {
  counted_calls = 0;
  counted_bytes = 0;
  counting = true;
}
allocation_count::~allocation_count() { counting = false; }
std::uint64_t allocation_count::calls() const { return counted_calls; }
std::uint64_t allocation_count::bytes() const { return counted_bytes; }

out_of_memory::out_of_memory() { memory_is_gone = true; }
out_of_memory::~out_of_memory() { memory_is_gone = false; }
}  // namespace tour
