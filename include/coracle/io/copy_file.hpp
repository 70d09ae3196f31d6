// coracle/io/copy_file.hpp -- copy a file inside the kernel.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/exec/blocking.hpp>
#include <coracle/io/filesystem.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

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
  way way_ = way::undecided;
  bool has_holes_ = false;
  bool is_complete_ = false;
};
}  // namespace coracle::detail

namespace coracle::filesystem {
/// Called with the number of bytes copied so far.
using copy_progress = std::function<void(std::uint64_t bytes)>;

/// Awaitable of the size of the copy: copies the contents of the file `from` of `from_base` to `to` of
/// `to_base`. The copy shares the blocks of the original where the file system can (btrfs, XFS); otherwise
/// the kernel copies them (copy_file_range(2)), or, where it cannot, a thread does. Holes stay holes.
///
///     co_await coracle::filesystem::copy_file(io, "report.txt", io, "report.bak");
///
/// `open_mode` is create_new, for which an existing `to` is an error, create_always or truncate_existing. A
/// new file has the permissions of `from` less the umask; an existing one keeps its own. `progress` is called
/// after each 16 MiB, and after the last piece.
/// Order         copies run concurrently, in no order.
/// Resumes on    the executor on which it was awaited, where `progress` is called too; outside any executor,
///               a thread of the blocking pool.
/// Cancellation  takes effect between two pieces. Like a failure, it leaves the beginning of the copy in
///               `to`.
/// Exceptions    std::system_error with the paths, and std::errc::file_exists if both are the same file;
///               operation_cancelled, std::bad_alloc; those of `progress`.
/// Threads       any number at once. A file that changes meanwhile is copied as it is found.
/// Cost          a blocking() call for each 16 MiB.
[[nodiscard("nothing is copied until this is awaited")]] inline task<std::uint64_t> copy_file(
    base_directory from_base, std::filesystem::path from, base_directory to_base, std::filesystem::path to,
    file_open_mode open_mode = file_open_mode::create_new, copy_progress progress = {}) {
  const read_only_file source = co_await open_read_only(from_base, std::move(from));
  // Truncated only once it is known to be another file.
  if (open_mode == file_open_mode::create_always) open_mode = file_open_mode::create_or_open;
  if (open_mode == file_open_mode::truncate_existing) open_mode = file_open_mode::open_existing;
  const write_only_file target =
      co_await open_write_only(to_base, std::move(to), open_mode, file_buffering_mode::default_,
                               detail::file_copier::permissions_of(source));
  detail::file_copier copier{source, target};
  const auto copy_piece = [&copier] { copier.copy_piece(); };
  while (!copier.is_complete()) {
    co_await blocking(copy_piece);
    if (progress) progress(copier.position());
  }
  co_return copier.position();
}
}  // namespace coracle::filesystem
