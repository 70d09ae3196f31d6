// coracle/io/write_only_file.hpp -- a file opened for writing.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/writable_file.hpp>

namespace coracle {
/// A file opened for writing. Move-only.
///
///     auto file = coracle::write_only_file::open(io, "log.txt", coracle::file_open_mode::create_always);
///     std::size_t put = co_await file.write(0, text.data(), text.size());
///
/// The other fields are those of `file`.
class write_only_file final : public writable_file {
 public:
  /// Opens or creates the file, depending on `open_mode`. Linux ignores `share_mode`.
  [[nodiscard]] static write_only_file open(
      io_service& service, const std::filesystem::path& path,
      file_open_mode open_mode = file_open_mode::create_or_open,
      [[maybe_unused]] file_share_mode share_mode = file_share_mode::none,
      file_buffering_mode buffering_mode = file_buffering_mode::default_) {
    return write_only_file{service, path, open_mode, buffering_mode};
  }
  write_only_file(io_service&, const std::filesystem::path&) = delete;  // write_only_file::open(io, path)
  write_only_file(write_only_file&&) noexcept = default;
  write_only_file& operator=(write_only_file&& other) noexcept {
    file::operator=(std::move(other));
    return *this;
  }
  // In the library, and so is the vtable: of one in a header each compiler makes other parts.
  ~write_only_file() override;

 private:
  friend filesystem::open_operation<write_only_file>;
  write_only_file(detail::io_descriptor descriptor, std::filesystem::path path) noexcept
      : file(std::move(descriptor), std::move(path)) {}
  write_only_file(io_service& service, const std::filesystem::path& path, file_open_mode open_mode,
                  file_buffering_mode buffering_mode)
      : file(service, path, detail::file_access::write, open_mode, buffering_mode) {}
};
}  // namespace coracle
