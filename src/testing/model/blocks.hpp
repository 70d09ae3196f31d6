// src/testing/model/blocks.hpp -- the memory that an execution has allocated and not freed.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

namespace coracle::testing::model {
/// The value of all bytes of memory freed by an execution.
inline constexpr unsigned char freed_byte = 0xdf;
inline constexpr std::uint64_t freed_word = ~std::uint64_t{0} / 0xff * freed_byte;

/// Replaces the global operator new and delete. Allocations of an execution's threads are listed: blocks left
/// at its end are leaks; blocks of an abandoned execution are freed without running destructors. Freed blocks
/// are returned to the heap at the end; until then they are filled with freed_byte and reused for allocations
/// of the same size, the last freed first, so that an address can be reused as it is without the checker.
/// Under AddressSanitizer they are never reused.
class model_blocks {
 public:
  struct remains {
    std::size_t not_freed = 0, bytes = 0;
    bool written_after_free = false;
  };
  /// Blocks allocated from now on belong to the execution.
  void begin_execution() noexcept;
  /// `give_up`: also frees the remaining blocks.
  remains end_execution(bool give_up) noexcept;
  /// Returns the freed block that contains `at`, or null.
  static const void* freed_block_of(const void* at) noexcept;
};

/// While it lives, allocations are the checker's own and not part of the execution.
class model_own_work {
 public:
  model_own_work() noexcept;
  model_own_work(const model_own_work&) = delete;
  model_own_work& operator=(const model_own_work&) = delete;
  ~model_own_work();

 private:
  bool outer_;
};
}  // namespace coracle::testing::model
