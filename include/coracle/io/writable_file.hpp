// coracle/io/writable_file.hpp -- writing to a file, at any offset.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/buffer.hpp>
#include <coracle/io/file.hpp>

namespace coracle {
class [[nodiscard("nothing is written until this is awaited")]] file_write_operation
    : public detail::file_operation {
 public:
  file_write_operation(const detail::io_descriptor& descriptor, const std::filesystem::path& path,
                       std::uint64_t position, const void* from, std::size_t bytes, stop_token token) noexcept
      : file_operation(descriptor, path, detail::io_opcode::write_at, from, bytes, position,
                       std::move(token)) {}
  file_write_operation(const detail::io_descriptor& descriptor, const std::filesystem::path& path,
                       std::uint64_t position, const_buffers from, stop_token token) noexcept
      : file_operation(descriptor, path, detail::io_opcode::write_parts_at, from.data(), from.size(),
                       position, std::move(token)) {}
};

class [[nodiscard("nothing is made durable until this is awaited")]] file_sync_operation
    : public detail::file_operation {
 public:
  file_sync_operation(const detail::io_descriptor& descriptor, const std::filesystem::path& path,
                      stop_token token) noexcept
      : file_operation(descriptor, path, detail::io_opcode::sync, static_cast<void*>(nullptr), 0, 0,
                       std::move(token)) {}
  void await_resume() { file_operation::await_resume(); }
};

/// A file that can be written: a write_only_file or a read_write_file.
///
///     std::size_t put = co_await file.write(offset, text);
///     co_await file.sync();
///
/// The other fields are those of `file`.
class writable_file : public virtual file {
 public:
  /// Truncates the file to `size` bytes, or extends it with zeros. Blocks.
  void set_size(std::uint64_t size);
  /// Awaitable of the number of bytes written: fewer than `size` if the device is full, a limit is reached or
  /// `size` exceeds 2 GiB; writing the rest then reports the reason. Beyond RLIMIT_FSIZE the system also
  /// sends SIGXFSZ, which ends the program unless it is ignored or caught. `token` replaces the inherited
  /// stop token. Requires: the file is not moved while the operation is pending.
  file_write_operation write(std::uint64_t offset, const void* buffer, byte_count size,
                             stop_token token = {}) noexcept {
    return {descriptor_, path_, offset, buffer, size, std::move(token)};
  }
  file_write_operation write(std::uint64_t offset, const_buffer bytes, stop_token token = {}) noexcept {
    return write(offset, bytes.data(), bytes.size(), std::move(token));
  }
  /// The same from several pieces of memory, one behind the other. With more than 1024 pieces, the error is
  /// std::errc::invalid_argument. Requires: the array `from` outlives the operation.
  file_write_operation write(std::uint64_t offset, const_buffers from, stop_token token = {}) noexcept {
    return {descriptor_, path_, offset, from, std::move(token)};
  }
  /// Awaitable of nothing, which completes when all `size` bytes have been written. A task that repeats
  /// write(). After a cancellation or an error, `*put`, if given, is the number of bytes written; pass it
  /// again to continue from there.
  CORACLE_CORO_WRAPPER()
  task<> write_all(std::uint64_t offset, const void* buffer, byte_count size, stop_token token = {},
                   std::size_t* put = nullptr) {
    return write_all_body(offset, buffer, size, std::move(token), put);
  }
  CORACLE_CORO_WRAPPER()
  task<> write_all(std::uint64_t offset, const_buffer bytes, stop_token token = {},
                   std::size_t* put = nullptr) {
    return write_all(offset, bytes.data(), bytes.size(), std::move(token), put);
  }
  /// The same from several pieces of memory, of any number. Requires: the array `parts` outlives the task.
  CORACLE_CORO_WRAPPER()
  task<> write_all(std::uint64_t offset, const_buffers parts, stop_token token = {},
                   std::size_t* put = nullptr) {
    return write_parts_body(offset, parts, std::move(token), put);
  }
  /// Awaitable of nothing. When it completes, everything written before it was awaited survives a power
  /// failure, and so does the size of the file. On most file systems the name of a new file survives too;
  /// fsync(2) of its directory guarantees it. After an error, what is on the device is unknown, and a second
  /// sync() does not tell: write the data again. `token` as in write().
  file_sync_operation sync(stop_token token = {}) noexcept { return {descriptor_, path_, std::move(token)}; }

 protected:
  writable_file() noexcept = default;
  writable_file(writable_file&&) noexcept = default;
  // Does nothing: the most derived class assigns the virtual base, once.
  writable_file& operator=(writable_file&&) noexcept { return *this; }

 private:
  detail::library_task<> write_all_body(std::uint64_t offset, const void* buffer, byte_count size,
                                        stop_token token, std::size_t* put);
  detail::library_task<> write_parts_body(std::uint64_t offset, const_buffers parts, stop_token token,
                                          std::size_t* put);
};

}  // namespace coracle
