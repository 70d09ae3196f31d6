// tests/support/counting_allocator.hpp -- a stateful allocator that counts, and fails when told to.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>
#include <new>

namespace coracle_test {
/// What all copies of one counting_allocator did.
struct allocator_log {
  int allocated = 0;
  int freed = 0;
  std::size_t bytes = 0;  ///< allocated and not freed
  bool fails = false;     ///< the next allocation throws std::bad_alloc
};

template <class T>
class counting_allocator {
 public:
  using value_type = T;

  explicit counting_allocator(allocator_log& log) noexcept : log_(&log) {}
  template <class U>
  counting_allocator(const counting_allocator<U>& other) noexcept : log_(other.log()) {}

  T* allocate(std::size_t count) {
    if (log_->fails) throw std::bad_alloc{};
    T* const memory = std::allocator<T>().allocate(count);
    ++log_->allocated;
    log_->bytes += count * sizeof(T);
    return memory;
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    ++log_->freed;
    log_->bytes -= count * sizeof(T);
    std::allocator<T>().deallocate(memory, count);
  }
  [[nodiscard]] allocator_log* log() const noexcept { return log_; }
  template <class U>
  friend bool operator==(const counting_allocator& a, const counting_allocator<U>& b) noexcept {
    return a.log() == b.log();
  }

 private:
  allocator_log* log_;
};
}  // namespace coracle_test
