// tests/fuzz/fuzz.hpp -- the frame of a fuzz target: an input, read as numbers, and what must hold.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace coracle_test {
/// The bytes of an input, one after the other; zeros when it is used up.
class fuzz_input {
 public:
  fuzz_input(const std::uint8_t* data, std::size_t size) noexcept : next_(data), end_(data + size) {}

  [[nodiscard]] bool empty() const noexcept { return next_ == end_; }
  std::uint8_t byte() noexcept { return empty() ? std::uint8_t{0} : *next_++; }
  /// 0 ... limit - 1. Requires: 0 < limit <= 256.
  unsigned below(unsigned limit) noexcept { return byte() % limit; }
  /// A number of up to eight bytes, small ones as likely as large ones.
  std::uint64_t number() noexcept {
    std::uint64_t value = 0;
    for (unsigned bytes = below(9); bytes != 0; --bytes) value = value << 8 | byte();
    return value;
  }

 private:
  const std::uint8_t* next_;
  const std::uint8_t* end_;
};

/// Ends the run, and so reports the input, where `condition` does not hold.
inline void must(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::abort();
}
}  // namespace coracle_test

/// Called by libFuzzer with one input after the other.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
