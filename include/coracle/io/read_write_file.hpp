// coracle/io/read_write_file.hpp -- a file opened for reading and writing.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/readable_file.hpp>
#include <coracle/io/writable_file.hpp>

namespace coracle {
/// A file opened for reading and writing. Move-only.
///
///     auto file = coracle::read_write_file::open(io, "table.db", coracle::file_open_mode::create_or_open);
///     std::size_t put = co_await file.write(file.size(), text.data(), text.size());
///
/// The other fields are those of `file`.
class read_write_file final : public readable_file, public writable_file {
 public:
  /// Opens or creates the file, depending on `open_mode`. Linux ignores `share_mode`.
  [[nodiscard]] static read_write_file open(
      io_service& service, const std::filesystem::path& path,
      file_open_mode open_mode = file_open_mode::create_or_open,
      [[maybe_unused]] file_share_mode share_mode = file_share_mode::none,
      file_buffering_mode buffering_mode = file_buffering_mode::default_) {
    return read_write_file{service, path, open_mode, buffering_mode};
  }
  read_write_file(io_service&, const std::filesystem::path&) = delete;  // read_write_file::open(io, path)
  read_write_file(read_write_file&&) noexcept = default;
  read_write_file& operator=(read_write_file&& other) noexcept {
    file::operator=(std::move(other));
    return *this;
  }
  // In the library, and so is the vtable: of one in a header each compiler makes other parts.
  ~read_write_file() override;

 private:
  friend filesystem::open_operation<read_write_file>;
  read_write_file(detail::io_descriptor descriptor, std::filesystem::path path) noexcept
      : file(std::move(descriptor), std::move(path)) {}
  read_write_file(io_service& service, const std::filesystem::path& path, file_open_mode open_mode,
                  file_buffering_mode buffering_mode)
      : file(service, path, detail::file_access::read_write, open_mode, buffering_mode) {}
};
}  // namespace coracle
