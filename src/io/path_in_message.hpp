// src/io/path_in_message.hpp -- a path as error messages name it.
// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>

namespace coracle::detail {
/// Returns the path up to its first NUL, where what() would end; two quotes for an empty one.
inline std::string path_in_message(const std::filesystem::path& path) {
  return path.empty() ? "\"\"" : path.c_str();
}
}  // namespace coracle::detail
