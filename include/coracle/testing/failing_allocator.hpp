// coracle/testing/failing_allocator.hpp -- a counting allocator whose k-th allocation fails.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <cstddef>
#include <memory>
#include <new>

namespace coracle::testing {
/// The state shared by all copies of a failing_allocator.
struct allocator_log {
  int allocated = 0;
  int freed = 0;
  std::size_t bytes = 0;  ///< allocated and not freed
  int until_failure = 0;  ///< 1: the next allocation throws std::bad_alloc; k: the k-th; 0: none does
};

/// For coroutines that take `std::allocator_arg`, and for containers.
///
///     coracle::testing::allocator_log log;
///     log.until_failure = 2;
///     auto work = serve(std::allocator_arg, coracle::testing::failing_allocator<int>{log});
/// ... its second frame throws std::bad_alloc; at the end:
///     CHECK(log.bytes == 0);
///
/// Prefer fail_each_allocation() for code that allocates from the global heap.
/// Threads  not thread-safe among copies that share a log.
template <class T>
class failing_allocator {
 public:
  using value_type = T;

  /// Requires: `log` outlives all copies.
  explicit failing_allocator(allocator_log& log) noexcept : log_(&log) {}
  template <class U>
  failing_allocator(const failing_allocator<U>& other) noexcept : log_(other.log()) {}

  T* allocate(std::size_t count) {
    if (log_->until_failure != 0 && --log_->until_failure == 0)
      CORACLE_THROW(std::bad_alloc{}, "failing_allocator: this allocation was to fail");
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
  friend bool operator==(const failing_allocator& a, const failing_allocator<U>& b) noexcept {
    return a.log() == b.log();
  }

 private:
  allocator_log* log_;
};
}  // namespace coracle::testing
