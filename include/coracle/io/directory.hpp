// coracle/io/directory.hpp -- an open directory, in which relative paths begin.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/io/detail/path_operation.hpp>
#include <coracle/io/writable_file.hpp>
#include <filesystem>
#include <utility>

namespace coracle {
namespace filesystem {
template <class File>
class open_operation;
}  // namespace filesystem

/// An open directory. Move-only. Paths relative to it still refer to it after it is renamed or the process
/// changes its current directory.
///
///     const coracle::directory spool = co_await coracle::filesystem::open_directory(io, "/var/spool/jobs");
///     co_await coracle::filesystem::rename(spool, "new/17", "running/17");
///     co_await spool.sync();
///
/// Threads  any number of operations at once. Closing and moving: no other use meanwhile. The io_service must
///          outlive it.
class directory {
 public:
  directory(directory&&) noexcept = default;
  directory& operator=(directory&&) noexcept = default;

  /// Awaitable of nothing: makes names created, changed or removed in it before this await survive a power
  /// loss. Cancellation and errors as for writable_file::sync().
  [[nodiscard]] file_sync_operation sync(stop_token token = {}) const noexcept {
    return {descriptor_, path_, std::move(token)};
  }
  /// Returns the path with which it was opened, behind that of the directory in which it was opened.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Returns -1 if it was moved from.
  [[nodiscard]] int native_handle() const noexcept { return descriptor_.native_handle(); }

 private:
  friend class base_directory;
  friend class filesystem::open_operation<directory>;
  directory(detail::io_descriptor descriptor, std::filesystem::path path) noexcept
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  detail::io_descriptor descriptor_;
  std::filesystem::path path_;
};

/// The starting point of relative paths: an io_service stands for the current directory of the process.
/// Converts implicitly.
class base_directory : public detail::path_base {
 public:
  base_directory(io_service& service) noexcept : path_base(service) {}
  /// Requires: `opened` outlives the operation, and is not moved from.
  base_directory(const directory& opened) noexcept : path_base(opened.descriptor_, opened.path_) {
    CORACLE_REQUIRE(opened.descriptor_.is_open(),
                    "a path was to begin in a directory that was moved from: pass the directory that it was "
                    "moved to");
  }
};
}  // namespace coracle
