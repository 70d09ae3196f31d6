// coracle/io/writable_file.hpp -- writing to a file, at any offset.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/file.hpp>

namespace coracle {
class [[nodiscard("nothing is written until this is awaited")]] file_write_operation
    : public detail::file_operation {
 public:
  file_write_operation(const detail::io_descriptor& descriptor, const std::filesystem::path& path,
                       std::uint64_t position, const void* from, std::size_t bytes, stop_token token) noexcept
      : file_operation(descriptor, path, detail::io_opcode::write_at, from, bytes, position,
                       std::move(token)) {}
};

/// A file that can be written: a write_only_file or a read_write_file.
///
///     std::size_t put = co_await file.write(offset, text.data(), text.size());
///
/// The other fields are those of `file`.
class writable_file : public virtual file {
 public:
  /// Makes the file as long as `size` bytes: cuts its end off, or extends it by zeros. Blocks.
  void set_size(std::uint64_t size);
  /// Awaitable of the number of bytes written: fewer than `size` where the device is full, a limit is reached or
  /// more than 2 GiB are given; writing the rest then tells why. `token` replaces the inherited stop token.
  /// Requires: the file is not moved while this is awaited.
  file_write_operation write(std::uint64_t offset, const void* buffer, std::size_t size,
                             stop_token token = {}) noexcept {
    return {descriptor_, path_, offset, buffer, size, std::move(token)};
  }

 protected:
  writable_file() noexcept = default;
  writable_file(writable_file&&) noexcept = default;
  // The file itself is assigned once, by the class that has it.
  writable_file& operator=(writable_file&&) noexcept { return *this; }
};
}  // namespace coracle
