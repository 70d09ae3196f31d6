// tests/unit/allocation_counter.cpp -- replaces the global operator new and delete of the test program.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cstdlib>
#include <new>

#include "../support/allocations.hpp"

namespace {
constinit std::atomic<long long> live{0};
constinit thread_local std::size_t made = 0;
constinit thread_local std::size_t until_failure = 0;  // 1: the next allocation fails; 0: none does
}  // namespace

#if CORACLE_TEST_COUNTS_ALLOCATIONS()
namespace {
void* allocate(std::size_t size) noexcept {
  if (until_failure != 0 && --until_failure == 0) return nullptr;
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (!memory) return nullptr;
  ++made;
  live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}
void* allocate_or_throw(std::size_t size) {
  void* const memory = allocate(size);
  if (!memory) throw std::bad_alloc{};
  return memory;
}
void release(void* memory) noexcept {
  if (!memory) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}
}  // namespace

void* operator new(std::size_t size) { return allocate_or_throw(size); }
void* operator new[](std::size_t size) { return allocate_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
#endif

namespace coracle_test {
std::size_t allocations() noexcept { return made; }
long long live_allocations() noexcept { return live.load(std::memory_order_relaxed); }

failing_allocation::failing_allocation(std::size_t k) noexcept { until_failure = k; }
failing_allocation::~failing_allocation() { until_failure = 0; }
bool failing_allocation::happened() const noexcept { return until_failure == 0; }
}  // namespace coracle_test
