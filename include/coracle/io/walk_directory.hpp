// coracle/io/walk_directory.hpp -- the entries of a directory, or of a whole tree, with their sizes.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/generators/async_generator.hpp>
#include <coracle/io/directory.hpp>
#include <coracle/io/directory_entry.hpp>
#include <filesystem>

namespace coracle::filesystem {
/// The entries of a directory and of all directories below it.
///
///     auto files = coracle::filesystem::walk_directory(io, "/var/log");
///     while (const auto* file = co_await files.next()) sum += file->status.size;
///
/// The paths are relative to the directory that is walked: open it by open_directory(), and pass that as the
/// base of the walk, with the path ".", and of what opens the files.
/// Symbolic links are yielded, and never followed: neither is one that takes the place of a directory
/// meanwhile. `path` itself may be one. An entry that is removed meanwhile may be left out.
/// Order         a directory before its entries; apart from this, that of the file system.
/// Resumes on    the executor on which the next entry was awaited; outside any executor, a thread of the
///               blocking pool.
/// Cancellation  takes effect after the entries that have been read, at most 512.
/// Exceptions    std::system_error with the path, after the entries before it; operation_cancelled,
///               std::bad_alloc. Each ends the walk; `skip_permission_denied` takes a directory that may not
///               be read for an empty one. A path longer than 4095 bytes below `path` is
///               std::errc::filename_too_long.
/// Threads       one consumer at a time.
/// Cost          a blocking() call for 512 entries; for each of them a statx(2), unless the options leave it
///               out. Two descriptors, whatever the depth.
/// Requires: an open directory that is passed as `base` outlives the generator.
[[nodiscard("nothing is read until next() is awaited")]] async_generator<const directory_entry>
walk_directory(base_directory base, std::filesystem::path path, walk_options options = {});

/// The entries of one directory, without "." and "..". As walk_directory() with a depth of 1.
///
///     auto entries = coracle::filesystem::list_directory(io, ".");
///     while (const auto* entry = co_await entries.next()) std::puts(entry->path.c_str());
[[nodiscard("nothing is read until next() is awaited")]] async_generator<const directory_entry>
list_directory(base_directory base, std::filesystem::path path, walk_options options = {});
}  // namespace coracle::filesystem
