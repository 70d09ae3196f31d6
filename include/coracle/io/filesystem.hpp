// coracle/io/filesystem.hpp -- operations on paths: open, status, rename, link, remove.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/directory.hpp>
#include <coracle/io/file_status.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/io/read_write_file.hpp>
#include <coracle/io/write_only_file.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>

namespace coracle::detail {
/// Storage for the result of the system call. A base class, because it must outlive the request.
class status_record {
 protected:
  static constexpr std::size_t record_size = 256;
  alignas(8) std::byte record_[record_size];  // a struct statx
};
class status_path_operation : protected status_record, public path_operation {
 public:
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    address = record_;
    return path_operation::await_suspend(self);
  }

 protected:
  status_path_operation(const base_directory& base, std::filesystem::path path, bool follows_symlink,
                        stop_token token);
};

class open_path_operation : public path_operation {
 protected:
  open_path_operation(const base_directory& base, std::filesystem::path path, const open_arguments& how,
                      std::filesystem::perms permissions, stop_token token);
  io_descriptor take_descriptor();

 public:
  [[nodiscard]] std::error_code await_error() noexcept;

 private:
  io_descriptor put_into_use(int fd);

  open_arguments how_;
  io_descriptor opened_;
};
library_task<std::filesystem::path> read_symlink_body(base_directory base, std::filesystem::path link);
library_task<> resize_file_body(base_directory base, std::filesystem::path path, std::uint64_t size);
}  // namespace coracle::detail

/// Operations on paths, as in std::filesystem, that block no thread of the program: they run on io_uring or,
/// with epoll, on a file thread. A relative path is resolved against the current directory of the process or
/// an open `directory`.
///
///     namespace fs = coracle::filesystem;
///     const coracle::file_status about = co_await fs::status(io, "report.txt");
///     if (about.size > limit) co_await fs::rename(io, "report.txt", "report.old");
///
/// Order         operations run concurrently, in no order.
/// Resumes on    as every I/O operation: the executor on which it was awaited; outside any executor, the
///               thread that runs the io_service.
/// Cancellation  operation_cancelled means that nothing was done. An operation that the system has begun is
///               completed, and succeeds.
/// Exceptions    std::system_error with the operation and the paths, a relative one behind that of the open
///               directory; operation_cancelled, std::bad_alloc. A path that contains a NUL gives
///               std::errc::invalid_argument.
/// Threads       any number at once, on any thread.
/// Cost          a round trip through the kernel or a file thread, some 10 us, where the system call alone
///               takes one: for many small files, see walk_directory().
namespace coracle::filesystem {
/// Returns nothing.
class [[nodiscard("nothing is done until this is awaited")]] change_operation
    : public detail::path_operation {
 public:
  change_operation(const base_directory& base, detail::io_opcode code, std::filesystem::path path,
                   std::filesystem::path other, std::size_t bytes, int call_flags, stop_token token)
      : path_operation(base, code, std::move(path), std::move(other), bytes, call_flags, std::move(token)) {}
  void await_resume();
};
/// Returns a file_status.
class [[nodiscard("nothing is asked until this is awaited")]] status_operation
    : public detail::status_path_operation {
 public:
  status_operation(const base_directory& base, std::filesystem::path path, bool follows_symlink,
                   stop_token token)
      : status_path_operation(base, std::move(path), follows_symlink, std::move(token)) {}
  file_status await_resume();
};
/// Returns a bool.
class [[nodiscard("nothing is asked until this is awaited")]] exists_operation
    : public detail::status_path_operation {
 public:
  exists_operation(const base_directory& base, std::filesystem::path path, stop_token token)
      : status_path_operation(base, std::move(path), true, std::move(token)) {}
  bool await_resume();
  /// That nothing exists there is a result.
  [[nodiscard]] std::error_code await_error() noexcept {
    const std::error_code failed = io_operation::await_error();
    const bool is_missing =
        failed == std::errc::no_such_file_or_directory || failed == std::errc::not_a_directory;
    return is_missing ? std::error_code() : failed;
  }
};
/// Returns an open read_only_file, write_only_file, read_write_file or directory.
template <class File>
class [[nodiscard("nothing is opened until this is awaited")]] open_operation
    : public detail::open_path_operation {
 public:
  open_operation(const base_directory& base, std::filesystem::path path, const detail::open_arguments& how,
                 std::filesystem::perms permissions, stop_token token)
      : open_path_operation(base, std::move(path), how, permissions, std::move(token)) {}
  File await_resume() { return File{take_descriptor(), base_.in_full(std::move(path_))}; }
};

/// Default permissions of a new file and of a new directory. The umask is subtracted.
inline constexpr std::filesystem::perms new_file = static_cast<std::filesystem::perms>(0666);
inline constexpr std::filesystem::perms new_directory = std::filesystem::perms::all;

/// Awaitable of an open file. A directory is an error. A FIFO is no file (see `file`): the system may wait
/// until its other end is opened, with epoll on a file thread, and then no stop request ends the wait.
/// `token` replaces the inherited stop token, here and below.
inline open_operation<read_only_file> open_read_only(
    const base_directory& base, std::filesystem::path path,
    file_buffering_mode buffering = file_buffering_mode::default_, stop_token token = {}) {
  const detail::open_arguments how{detail::file_access::read, file_open_mode::open_existing, buffering};
  return {base, std::move(path), how, new_file, std::move(token)};
}
/// Awaitable of an open file, which is created if `open_mode` says so, with these permissions less the umask.
inline open_operation<write_only_file> open_write_only(
    const base_directory& base, std::filesystem::path path,
    file_open_mode open_mode = file_open_mode::create_or_open,
    file_buffering_mode buffering = file_buffering_mode::default_,
    std::filesystem::perms permissions = new_file, stop_token token = {}) {
  const detail::open_arguments how{detail::file_access::write, open_mode, buffering};
  return {base, std::move(path), how, permissions, std::move(token)};
}
/// As open_write_only().
inline open_operation<read_write_file> open_read_write(
    const base_directory& base, std::filesystem::path path,
    file_open_mode open_mode = file_open_mode::create_or_open,
    file_buffering_mode buffering = file_buffering_mode::default_,
    std::filesystem::perms permissions = new_file, stop_token token = {}) {
  const detail::open_arguments how{detail::file_access::read_write, open_mode, buffering};
  return {base, std::move(path), how, permissions, std::move(token)};
}
/// Awaitable of an open directory.
inline open_operation<directory> open_directory(const base_directory& base, std::filesystem::path path,
                                                stop_token token = {}) {
  return {base, std::move(path), detail::open_arguments::of_directory(), new_file, std::move(token)};
}

/// Awaitable of a file_status; for a symbolic link, that of its target.
inline status_operation status(const base_directory& base, std::filesystem::path path,
                               stop_token token = {}) {
  return {base, std::move(path), true, std::move(token)};
}
/// As status(), but for a symbolic link itself.
inline status_operation symlink_status(const base_directory& base, std::filesystem::path path,
                                       stop_token token = {}) {
  return {base, std::move(path), false, std::move(token)};
}
/// Awaitable of bool: false if there is no such file, or a symbolic link has no target. Other errors are
/// thrown.
inline exists_operation exists(const base_directory& base, std::filesystem::path path,
                               stop_token token = {}) {
  return {base, std::move(path), std::move(token)};
}
/// Awaitable of nothing: renames `from` to `to`, atomically replacing a file or an empty directory there.
/// Both must be in the same file system.
inline change_operation rename(const base_directory& base, std::filesystem::path from,
                               std::filesystem::path to, stop_token token = {}) {
  return {base, detail::io_opcode::rename, std::move(from), std::move(to), 0, 0, std::move(token)};
}
/// Awaitable of nothing: makes `link` another name of the file `target`. Fails if `link` exists.
inline change_operation create_hard_link(const base_directory& base, std::filesystem::path target,
                                         std::filesystem::path link, stop_token token = {}) {
  return {base, detail::io_opcode::link, std::move(target), std::move(link), 0, 0, std::move(token)};
}
/// Awaitable of nothing: makes `link` a symbolic link to `target`, which need not exist. A relative `target`
/// is resolved against the directory of `link`.
inline change_operation create_symlink(const base_directory& base, std::filesystem::path target,
                                       std::filesystem::path link, stop_token token = {}) {
  return {base, detail::io_opcode::symlink, std::move(target), std::move(link), 0, 0, std::move(token)};
}
/// Awaitable of nothing: creates a directory. Fails if `path` exists.
inline change_operation create_directory(const base_directory& base, std::filesystem::path path,
                                         std::filesystem::perms permissions = new_directory,
                                         stop_token token = {}) {
  const auto mode = static_cast<std::size_t>(permissions);
  return {base, detail::io_opcode::make_folder, std::move(path), {}, mode, 0, std::move(token)};
}
/// Awaitable of nothing: removes the name of a file or symbolic link, and the file with its last name.
inline change_operation remove(const base_directory& base, std::filesystem::path path,
                               stop_token token = {}) {
  return {base, detail::io_opcode::remove, std::move(path), {}, 0, 0, std::move(token)};
}
/// Awaitable of nothing: removes an empty directory.
inline change_operation remove_directory(const base_directory& base, std::filesystem::path path,
                                         stop_token token = {}) {
  return {base, detail::io_opcode::remove, std::move(path), {},
          0,    detail::removes_directory, std::move(token)};
}

/// Awaitable of the target of a symbolic link, as passed to create_symlink(). Runs on the blocking pool,
/// since io_uring has no such operation.
CORACLE_CORO_WRAPPER()
inline task<std::filesystem::path> read_symlink(base_directory base, std::filesystem::path link) {
  return detail::read_symlink_body(base, std::move(link));
}
/// Awaitable of nothing: sets the size of the file to `size` bytes; truncates it, or extends it with zeros.
CORACLE_CORO_WRAPPER()
inline task<> resize_file(base_directory base, std::filesystem::path path, std::uint64_t size) {
  return detail::resize_file_body(base, std::move(path), size);
}
}  // namespace coracle::filesystem
