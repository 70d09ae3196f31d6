// coracle/io/file_status.hpp -- what the system knows about a file: type, size, owner, times.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>

namespace coracle {
/// What the system knows about a file or directory; a value. See filesystem::status().
struct file_status {
  /// Whole nanoseconds, which a time_point of libc++'s system_clock does not hold.
  using time_point = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

  std::filesystem::file_type type = std::filesystem::file_type::none;
  std::filesystem::perms permissions = std::filesystem::perms::none;
  std::uint64_t size = 0;       ///< bytes; for a symbolic link, the length of its target
  std::uint64_t allocated = 0;  ///< bytes on the device; less than `size` if the file has holes
  std::uint64_t device = 0;     ///< with `inode`, identifies the file
  std::uint64_t inode = 0;
  std::uint64_t links = 0;  ///< hard links
  std::uint32_t owner = 0;
  std::uint32_t group = 0;
  time_point accessed{};
  time_point modified{};  ///< last change of the contents
  time_point changed{};   ///< last change of the contents or the status

  [[nodiscard]] bool is_regular_file() const noexcept { return type == std::filesystem::file_type::regular; }
  [[nodiscard]] bool is_directory() const noexcept { return type == std::filesystem::file_type::directory; }
  [[nodiscard]] bool is_symlink() const noexcept { return type == std::filesystem::file_type::symlink; }
};
}  // namespace coracle
