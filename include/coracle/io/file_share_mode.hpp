// coracle/io/file_share_mode.hpp -- what other processes may do with an open file.
// SPDX-License-Identifier: MIT
#pragma once

namespace coracle {
/// What other processes may do with the file while it is open; values can be combined with `|`. Linux
/// enforces none of this: the parameter is accepted for portability and has no effect. To exclude other
/// programs, lock the file in each of them (lock_exclusive(), lock_shared()), or create it with
/// file_open_mode::create_new.
enum class file_share_mode { none = 0, read = 1, write = 2, read_write = read | write, delete_ = 4 };

constexpr file_share_mode operator|(file_share_mode a, file_share_mode b) noexcept {
  return static_cast<file_share_mode>(static_cast<int>(a) | static_cast<int>(b));
}
constexpr file_share_mode operator&(file_share_mode a, file_share_mode b) noexcept {
  return static_cast<file_share_mode>(static_cast<int>(a) & static_cast<int>(b));
}
}  // namespace coracle
