// src/io/parts_left.cpp -- what is left of several pieces of memory to write.
// SPDX-License-Identifier: MIT
#include "parts_left.hpp"

#include <coracle/io/detail/io_request.hpp>
#include <coracle/io/detail/transfer_count.hpp>

namespace coracle::detail {
std::span<const const_buffer> parts_left::next() const noexcept {
  if (begun_.size() != 0) return {&begun_, 1};
  return whole_.first(whole_.size() < most_parts ? whole_.size() : most_parts);
}

void parts_left::remove(std::size_t count) noexcept {
  if (count < begun_.size()) return begin(begun_, count);
  count -= begun_.size();
  begun_ = {};
  for (; !whole_.empty() && whole_.front().size() <= count; whole_ = whole_.subspan(1))
    count -= whole_.front().size();
  if (count == 0) return;
  CORACLE_REQUIRE(!whole_.empty(), counts_too_much);
  begin(whole_.front(), count);
  whole_ = whole_.subspan(1);
}

void parts_left::begin(const_buffer piece, std::size_t count) noexcept {
  begun_ = {static_cast<const char*>(piece.data()) + count, piece.size() - count};
}
}  // namespace coracle::detail
