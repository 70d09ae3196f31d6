// coracle/io/writable_file.hpp -- writing to a file, at any offset.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/task.hpp>
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
///     std::size_t put = co_await file.write(offset, text.data(), text.size());
///     co_await file.sync();
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
  /// Awaitable of nothing: all `size` bytes are written. A task that goes on with write() until all is done; cancelled, or
  /// ended by an error, `*put`, if given, says how many bytes, and called again with it, it goes on from there.
  task<> write_all(std::uint64_t offset, const void* buffer, std::size_t size, stop_token token = {},
                   std::size_t* put = nullptr);
  /// Awaitable of nothing: what had been written before this was awaited survives a loss of power, and so does the
  /// size. A new file's name does on the usual file systems; fsync(2) of its folder makes sure. After an error
  /// it is unknown what is on the device, and trying again does not tell: write it anew. `token` as of write().
  file_sync_operation sync(stop_token token = {}) noexcept { return {descriptor_, path_, std::move(token)}; }

 protected:
  writable_file() noexcept = default;
  writable_file(writable_file&&) noexcept = default;
  // The file itself is assigned once, by the class that has it.
  writable_file& operator=(writable_file&&) noexcept { return *this; }
};

// Here for the reason of readable_file's.
inline task<> writable_file::write_all(std::uint64_t offset, const void* buffer, std::size_t size,
                                       stop_token token, std::size_t* put) {
  std::size_t its_own = 0;
  std::size_t& done = put ? *put : its_own;
  while (done != size) {
    const std::size_t more =
        co_await write(offset + done, static_cast<const char*>(buffer) + done, size - done, token);
    done += more;
  }
}
}  // namespace coracle
