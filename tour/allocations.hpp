// tour/allocations.hpp -- every allocation of the program, counted.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace tour {
/// Counts the calls of the global operator new, by all threads, while it lives. One at a time.
class allocation_count {
 public:
  allocation_count();
  allocation_count(const allocation_count&) = delete;
  allocation_count& operator=(const allocation_count&) = delete;
  ~allocation_count();

  [[nodiscard]] std::uint64_t calls() const;
  [[nodiscard]] std::uint64_t bytes() const;
};

/// While it lives, memory has run out for the calling thread: its operator new throws std::bad_alloc.
class out_of_memory {
 public:
  out_of_memory();
  out_of_memory(const out_of_memory&) = delete;
  out_of_memory& operator=(const out_of_memory&) = delete;
  ~out_of_memory();
};
}  // namespace tour
