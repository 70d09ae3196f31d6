// coracle/io/directory_entry.hpp -- what walk_directory() yields, and options for it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/file_status.hpp>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace coracle {
/// An entry of a directory, as list_directory() and walk_directory() yield it.
struct directory_entry {
  /// The path relative to the directory that is listed or walked; of its own entries, the name. A
  /// std::filesystem::path would cost an allocation for each of its parts.
  std::string path;
  /// That of a symbolic link itself. Only the type is known if the options leave out the rest.
  file_status status;
  /// 1 for an entry of the directory that is walked.
  std::size_t depth = 0;

  /// The last part of `path`.
  [[nodiscard]] std::string_view name() const noexcept {
    return std::string_view{path}.substr(path.rfind('/') + 1);
  }
};

/// What walk_directory() yields.
struct walk_options {
  /// Whether entries have a whole status, or only a type, which saves a system call an entry.
  bool with_status = true;
  /// Whether a directory that the process may not read is taken for an empty one, instead of an error. Does
  /// not apply to the directory where the walk begins.
  bool skip_permission_denied = false;
  /// Whether directories of other file systems are left out of the walk. They are yielded themselves.
  bool same_file_system = false;
  /// Entries that are deeper are left out; 1: only those of the directory itself.
  std::size_t max_depth = std::numeric_limits<std::size_t>::max();
};
}  // namespace coracle
