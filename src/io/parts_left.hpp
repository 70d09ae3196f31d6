// src/io/parts_left.hpp -- what is left of several pieces of memory to write.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/buffer.hpp>
#include <cstddef>
#include <span>

namespace coracle::detail {
/// What is left of several pieces while one operation after the other writes a part of them. Refers to the
/// pieces, and does not change them.
class parts_left {
 public:
  /// Requires: `parts` have `done` bytes.
  parts_left(std::span<const const_buffer> parts, std::size_t done) noexcept : whole_(parts) { remove(done); }

  [[nodiscard]] bool empty() const noexcept { return begun_.size() == 0 && whole_.empty(); }
  /// Returns what to write next: the rest of a piece of which a part is written, or else as many pieces as
  /// the system takes.
  [[nodiscard]] std::span<const const_buffer> next() const noexcept;
  /// Removes the first `count` bytes, and the empty pieces behind them.
  void remove(std::size_t count) noexcept;

 private:
  void begin(const_buffer piece, std::size_t count) noexcept;

  const_buffer begun_;  // the rest of the piece in front of `whole_`
  std::span<const const_buffer> whole_;
};
}  // namespace coracle::detail
