// coracle/io/copy_file.hpp -- copy a file inside the kernel.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/filesystem.hpp>
#include <cstdint>
#include <functional>
#include <utility>

namespace coracle::filesystem {
/// Called with the number of bytes copied so far.
using copy_progress = std::function<void(std::uint64_t bytes)>;
}  // namespace coracle::filesystem

namespace coracle::detail {
library_task<std::uint64_t> copy_file_body(base_directory from_base, std::filesystem::path from,
                                           base_directory to_base, std::filesystem::path to,
                                           file_open_mode open_mode, filesystem::copy_progress progress);
}  // namespace coracle::detail

namespace coracle::filesystem {
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
/// Requires: `open_mode` is not append.
CORACLE_CORO_WRAPPER()
inline task<std::uint64_t> copy_file(base_directory from_base, std::filesystem::path from,
                                     base_directory to_base, std::filesystem::path to,
                                     file_open_mode open_mode = file_open_mode::create_new,
                                     copy_progress progress = {}) {
  return detail::copy_file_body(from_base, std::move(from), to_base, std::move(to), open_mode,
                                std::move(progress));
}
}  // namespace coracle::filesystem
