// src/io/file_copier.hpp -- the blocking part of copy_file().
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/readable_file.hpp>
#include <coracle/io/writable_file.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace coracle::detail {
class io_system;

/// Copies one open file into another, a piece at a time, by the best way that both file systems support.
class file_copier {
 public:
  /// Returns the permissions that the copy shall have. Throws std::system_error.
  [[nodiscard]] static std::filesystem::perms permissions_of(const file& from);

  file_copier(const readable_file& from, const writable_file& to);
  file_copier(const file_copier&) = delete;
  file_copier& operator=(const file_copier&) = delete;
  ~file_copier();

  /// Copies the next piece: 16 MiB, or the whole file if the two can share it. Blocks. Throws
  /// std::system_error.
  void copy_piece();
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }
  /// Returns how far the copy has got, in bytes.
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }

 private:
  enum class way { undecided, in_kernel, through_memory };
  [[nodiscard]] static io_system& system_of(const file& of) noexcept;
  void begin();
  bool find_data();
  void copy_range(std::size_t size);
  std::size_t copy_in_kernel(std::size_t size);
  std::size_t copy_through_memory(std::size_t size);
  void end();
  std::size_t checked(std::int64_t result) const;
  [[noreturn]] void fail(int error) const;

  io_system &from_system_, &to_system_;  // the same, unless one of the files is simulated
  const int from_, to_;
  const std::filesystem::path &from_path_, &to_path_;
  std::unique_ptr<char[]> memory_;
  std::uint64_t position_ = 0;
  std::uint64_t data_end_ = 0;
  std::uint64_t size_with_hole_ = 0;  // if it ends with a hole
  way way_ = way::undecided;
  bool has_holes_ = false;
  bool is_complete_ = false;
};
}  // namespace coracle::detail
