// src/io/name_record.hpp -- what getdents64(2) stores.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

namespace coracle::detail {
/// A record of getdents64(2).
struct name_record {
  std::uint64_t inode;
  std::int64_t position;
  unsigned short size;
  unsigned char type;
  char name[1];
};
static_assert(offsetof(name_record, name) == 19);
}  // namespace coracle::detail
