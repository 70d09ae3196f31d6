// coracle/io/readable_file.hpp -- reading from a file, at any offset.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/buffer.hpp>
#include <coracle/io/file.hpp>

namespace coracle {
class [[nodiscard("nothing is read until this is awaited")]] file_read_operation
    : public detail::file_operation {
 public:
  file_read_operation(const detail::io_descriptor& descriptor, const std::filesystem::path& path,
                      std::uint64_t position, void* to, std::size_t bytes, stop_token token) noexcept
      : file_operation(descriptor, path, detail::io_opcode::read_at, to, bytes, position, std::move(token)) {}
  file_read_operation(const detail::io_descriptor& descriptor, const std::filesystem::path& path,
                      std::uint64_t position, mutable_buffers to, stop_token token) noexcept
      : file_operation(descriptor, path, detail::io_opcode::read_parts_at, to.data(), to.size(), position,
                       std::move(token)) {}
};

/// A file that can be read: a read_only_file or a read_write_file.
///
///     std::size_t got = co_await file.read(offset, buffer, sizeof buffer);
///
/// The other fields are those of `file`.
class readable_file : public virtual file {
 public:
  /// Awaitable of the number of bytes read: as many as one system call reads, fewer than `size` at the end of
  /// the file, and 0 from there on. `token` replaces the inherited stop token. Requires: the file is not
  /// moved while the operation is pending.
  file_read_operation read(std::uint64_t offset, void* buffer, byte_count size,
                           stop_token token = {}) const noexcept {
    return {descriptor_, path_, offset, buffer, size, std::move(token)};
  }
  /// The same into several pieces of memory, each of which is filled before the next one is begun. With more
  /// than 1024 pieces, the error is std::errc::invalid_argument. Requires: the array `to` outlives the
  /// operation.
  file_read_operation read(std::uint64_t offset, mutable_buffers to, stop_token token = {}) const noexcept {
    return {descriptor_, path_, offset, to, std::move(token)};
  }
  /// Awaitable of `size` once that many bytes have been read, or of 0 if the file ends at or before `offset`.
  /// If the file ends in between, the error is ENODATA. A task that repeats read(). After a cancellation or
  /// an error, `*got`, if given, is the number of bytes read; pass it again to continue from there.
  CORACLE_CORO_WRAPPER()
  task<std::size_t> read_exactly(std::uint64_t offset, void* buffer, byte_count size, stop_token token = {},
                                 std::size_t* got = nullptr) const {
    return read_exactly_body(offset, buffer, size, std::move(token), got);
  }
  /// The same into an array, vector, string or span.
  CORACLE_CORO_WRAPPER()
  task<std::size_t> read_exactly(std::uint64_t offset, mutable_buffer to, stop_token token = {},
                                 std::size_t* got = nullptr) const {
    return read_exactly(offset, to.data(), to.size(), std::move(token), got);
  }
  file_read_operation read(std::uint64_t offset, mutable_buffer to, stop_token token = {}) const noexcept {
    return read(offset, to.data(), to.size(), std::move(token));
  }

 protected:
  readable_file() noexcept = default;
  readable_file(readable_file&&) noexcept = default;
  // Does nothing: the most derived class assigns the virtual base, once.
  readable_file& operator=(readable_file&&) noexcept { return *this; }

 private:
  detail::library_task<std::size_t> read_exactly_body(std::uint64_t offset, void* buffer, byte_count size,
                                                      stop_token token, std::size_t* got) const;
};

}  // namespace coracle
