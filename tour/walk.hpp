// tour/walk.hpp -- every file below a directory, one after the other.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/generators/generator.hpp>
#include <filesystem>
#include <string>

namespace tour {
struct walked_file {
  std::string path;
  std::string skipped;  ///< empty: a regular file when it was listed; else why it is not to be opened
};

/// Yields all that is no directory, each directory's files before those of its subdirectories, and each
/// directory that cannot be listed. Follows no symbolic link but `root` itself, which may also be a file.
/// Holds one directory open at a time and uses the same stack however deep the tree is.
coracle::generator<walked_file&> walk(std::filesystem::path root);
}  // namespace tour
