// coracle/io/file_buffering_mode.hpp -- how the system caches a file.
// SPDX-License-Identifier: MIT
#pragma once

namespace coracle {
/// Hints and requirements for the page cache; values can be combined with `|`.
enum class file_buffering_mode {
  default_ = 0,
  sequential = 1,     ///< a hint to read further ahead: posix_fadvise(POSIX_FADV_SEQUENTIAL)
  random_access = 2,  ///< a hint not to read ahead: posix_fadvise(POSIX_FADV_RANDOM)
  /// No caching: O_DIRECT. Offset, size and buffer address must be multiples of the device's block size (4096
  /// suits most devices). On a file system that does not support it, opening the file fails.
  unbuffered = 4,
  write_through = 8,  ///< a write completes when the data is on the device: O_DSYNC
  temporary = 16      ///< no effect: Linux has no such hint
};

constexpr file_buffering_mode operator|(file_buffering_mode a, file_buffering_mode b) noexcept {
  return static_cast<file_buffering_mode>(static_cast<int>(a) | static_cast<int>(b));
}
constexpr file_buffering_mode operator&(file_buffering_mode a, file_buffering_mode b) noexcept {
  return static_cast<file_buffering_mode>(static_cast<int>(a) & static_cast<int>(b));
}
}  // namespace coracle
