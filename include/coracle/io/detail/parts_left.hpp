// coracle/io/detail/parts_left.hpp -- what is left of several pieces of memory to write.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/buffer.hpp>
#include <coracle/io/detail/io_request.hpp>
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
  [[nodiscard]] std::span<const const_buffer> next() const noexcept {
    if (begun_.size() != 0) return {&begun_, 1};
    return whole_.first(whole_.size() < most_parts ? whole_.size() : most_parts);
  }
  /// Removes the first `count` bytes, and the empty pieces behind them.
  void remove(std::size_t count) noexcept {
    if (count < begun_.size()) return begin(begun_, count);
    count -= begun_.size();
    begun_ = {};
    for (; !whole_.empty() && whole_.front().size() <= count; whole_ = whole_.subspan(1))
      count -= whole_.front().size();
    if (count == 0) return;
    begin(whole_.front(), count);
    whole_ = whole_.subspan(1);
  }

 private:
  void begin(const_buffer piece, std::size_t count) noexcept {
    begun_ = {static_cast<const char*>(piece.data()) + count, piece.size() - count};
  }

  const_buffer begun_;  // the rest of the piece in front of `whole_`
  std::span<const const_buffer> whole_;
};
}  // namespace coracle::detail
