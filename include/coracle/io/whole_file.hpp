// coracle/io/whole_file.hpp -- read, write or replace a whole file in one call.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/filesystem.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::detail {
library_task<std::string> read_file_body(base_directory base, std::filesystem::path path);
library_task<> write_file_body(base_directory base, std::filesystem::path path, std::string_view text,
                               file_open_mode mode, std::filesystem::perms permissions);
library_task<> write_atomically_body(base_directory base, std::filesystem::path path, std::string_view text,
                                     std::filesystem::perms permissions);
}  // namespace coracle::detail

namespace coracle::filesystem {
/// Awaitable of all bytes of a file.
///
///     const std::string text = co_await coracle::filesystem::read_file(io, "settings.toml");
///
/// Resumes on    as every I/O operation.
/// Cancellation  takes effect between two reads, or as for a read.
/// Exceptions    std::system_error with the path, operation_cancelled, std::bad_alloc.
/// Cost          the whole contents are in memory at once: read a file of unknown size in pieces
///               (read_only_file::read()).
CORACLE_CORO_WRAPPER()
inline task<std::string> read_file(base_directory base, std::filesystem::path path) {
  return detail::read_file_body(base, std::move(path));
}

/// Awaitable of nothing: replaces the contents of the file with `text`. Creates the file if it does not
/// exist, with these permissions less the umask. If it is cancelled or fails, the file contains a part of
/// `text`; prefer write_atomically() where that matters. Requires: `text` outlives the operation.
CORACLE_CORO_WRAPPER()
inline task<> write_file(base_directory base, std::filesystem::path path, std::string_view text,
                         std::filesystem::perms permissions = new_file) {
  return detail::write_file_body(base, std::move(path), text, file_open_mode::create_always, permissions);
}

/// As write_file(), but appends `text` to the contents. Other writers may append concurrently: each single
/// write stays contiguous, which is all of `text` unless the device is full or `text` is longer than 2 GiB.
CORACLE_CORO_WRAPPER()
inline task<> append_to_file(base_directory base, std::filesystem::path path, std::string_view text,
                             std::filesystem::perms permissions = new_file) {
  return detail::write_file_body(base, std::move(path), text, file_open_mode::append, permissions);
}
/// Awaitable of nothing: atomically replaces the contents of the file with `text`. Opening the file at any
/// moment, even after a power loss, gives either the old contents or `text`; after completion, `text`. The
/// text is written to another file in the same directory, which is synced and renamed; then the directory is
/// synced.
///
///     co_await coracle::filesystem::write_atomically(io, "settings.toml", text);
///
/// Resumes on    as every I/O operation.
/// Cancellation  takes effect up to the rename, which it does not interrupt: if cancelled, the file is
///               unchanged.
/// Exceptions    std::system_error, operation_cancelled, std::bad_alloc. The file is unchanged and the other
///               one removed, unless the sync of the directory fails: the file then has the new contents,
///               which may not survive a power loss.
/// Threads       any number at once, even for one file: the last rename determines its contents.
/// Cost          two syncs: milliseconds. The file is a new one: its owner is that of the process, its
///               permissions are those passed less the umask, and its other hard links keep the old contents.
/// If the process is killed or the coroutine destroyed meanwhile, the other file, named
/// `.NAME.PROCESS.NUMBER`, remains. Requires: `text` outlives the operation.
CORACLE_CORO_WRAPPER()
inline task<> write_atomically(base_directory base, std::filesystem::path path, std::string_view text,
                               std::filesystem::perms permissions = new_file) {
  return detail::write_atomically_body(base, std::move(path), text, permissions);
}
}  // namespace coracle::filesystem
