// coracle/io/whole_file.hpp -- read, write or replace a whole file in one call.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/filesystem.hpp>
#include <exception>
#include <string>
#include <string_view>

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
[[nodiscard("nothing is read until this is awaited")]] inline task<std::string> read_file(
    base_directory base, std::filesystem::path path) {
  const read_only_file file = co_await open_read_only(base, std::move(path));
  // The size is a hint: the system generates some files as they are read, and others grow.
  constexpr std::size_t least = 4096;
  std::string text(file.size() < least ? least : file.size() + 1, '\0');
  std::size_t size = 0;
  for (;;) {
    const std::size_t got = co_await file.read(size, text.data() + size, text.size() - size);
    size += got;
    if (got == 0) break;
    if (size == text.size()) text.resize(2 * size);
  }
  text.resize(size);
  co_return text;
}

/// Awaitable of nothing: replaces the contents of the file with `text`. Creates the file if it does not
/// exist, with these permissions less the umask. If it is cancelled or fails, the file contains a part of
/// `text`; prefer write_atomically() where that matters. Requires: `text` outlives the operation.
[[nodiscard("nothing is written until this is awaited")]] inline task<> write_file(
    base_directory base, std::filesystem::path path, std::string_view text,
    std::filesystem::perms permissions = new_file) {
  write_only_file file = co_await open_write_only(base, std::move(path), file_open_mode::create_always,
                                                  file_buffering_mode::default_, permissions);
  co_await file.write_all(0, text.data(), text.size());
}

/// As write_file(), but appends `text` to the contents. Other writers may append concurrently: each single
/// write stays contiguous, which is all of `text` unless the device is full or `text` is longer than 2 GiB.
[[nodiscard("nothing is written until this is awaited")]] inline task<> append_to_file(
    base_directory base, std::filesystem::path path, std::string_view text,
    std::filesystem::perms permissions = new_file) {
  write_only_file file = co_await open_write_only(base, std::move(path), file_open_mode::append,
                                                  file_buffering_mode::default_, permissions);
  co_await file.write_all(0, text.data(), text.size());
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
[[nodiscard("nothing is written until this is awaited")]] inline task<> write_atomically(
    base_directory base, std::filesystem::path path, std::string_view text,
    std::filesystem::perms permissions = new_file) {
  std::filesystem::path parent = path.parent_path();
  if (parent.empty()) parent = ".";
  const directory folder = co_await open_directory(base, std::move(parent));
  std::string name = detail::replacement_name(path);
  while (co_await exists(folder, name)) name = detail::replacement_name(path);
  write_only_file file = co_await open_write_only(folder, name, file_open_mode::create_new,
                                                  file_buffering_mode::default_, permissions);
  std::exception_ptr failure;
  CORACLE_TRY() {
    co_await throwing(file.write_all(0, text.data(), text.size()));
    co_await throwing(file.sync());
    co_await throwing(rename(folder, name, path.filename()));
  }
  CORACLE_CATCH_ALL() { failure = std::current_exception(); }
  if (!failure) {
    co_await shielded(folder.sync());
    co_return;
  }
  CORACLE_TRY() { co_await shielded(remove(folder, name)); }
  CORACLE_CATCH_ALL() {}  // the first failure matters more
  std::rethrow_exception(failure);
}
}  // namespace coracle::filesystem
