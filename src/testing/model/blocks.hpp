// src/testing/model/blocks.hpp -- what an execution has allocated and not freed.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

namespace coracle::testing::model {
/// What all bytes are of memory that an execution has freed.
inline constexpr unsigned char freed_byte = 0xdf;
inline constexpr std::uint64_t freed_word = ~std::uint64_t{0} / 0xff * freed_byte;

/// Replaces the global operator new and delete. What the threads of an execution allocate is listed: what is left at its
/// end is a leak, and what an execution holds that is given up half-way is freed without running a destructor. What they
/// free goes back at the end; until then it is filled with freed_byte, and given again to who asks for that size, the
/// last freed first, so that an address can come back as it does without the checker. AddressSanitizer: never again.
class model_blocks {
 public:
  struct remains {
    std::size_t not_freed = 0, bytes = 0;
    bool written_after_free = false;
  };
  /// Blocks that are made from here on belong to the execution.
  void begin_execution() noexcept;
  /// `give_up`: what is left is freed, too.
  remains end_execution(bool give_up) noexcept;
  /// The freed block in which `at` lies; null: none.
  static const void* freed_block_of(const void* at) noexcept;
};

/// While it lives the checker works for itself: what it allocates is no part of the execution.
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
