// coracle/io/read_only_file.hpp -- a file opened for reading.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/readable_file.hpp>

namespace coracle {
/// A file opened for reading. Move-only.
///
///     const auto file = coracle::read_only_file::open(io, "names.txt");
///     std::size_t got = co_await file.read(0, buffer, sizeof buffer);
///
/// The other fields are those of `file`.
class read_only_file final : public readable_file {
 public:
  /// Opens an existing file. A directory is an error. Linux ignores `share_mode`.
  [[nodiscard]] static read_only_file open(
      io_service& service, const std::filesystem::path& path,
      [[maybe_unused]] file_share_mode share_mode = file_share_mode::read,
      file_buffering_mode buffering_mode = file_buffering_mode::default_) {
    return read_only_file{service, path, buffering_mode};
  }
  read_only_file(io_service&, const std::filesystem::path&) = delete;  // read_only_file::open(io, path)
  read_only_file(read_only_file&&) noexcept = default;
  read_only_file& operator=(read_only_file&& other) noexcept {
    file::operator=(std::move(other));
    return *this;
  }
  // In the library, and so is the vtable: of one in a header each compiler makes other parts.
  ~read_only_file() override;

 private:
  friend filesystem::open_operation<read_only_file>;
  read_only_file(detail::io_descriptor descriptor, std::filesystem::path path) noexcept
      : file(std::move(descriptor), std::move(path)) {}
  read_only_file(io_service& service, const std::filesystem::path& path, file_buffering_mode buffering_mode)
      : file(service, path, detail::file_access::read, file_open_mode::open_existing, buffering_mode) {}
};
}  // namespace coracle
