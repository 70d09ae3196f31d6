// tests/support/temporary_folder.hpp -- a folder for the files of a test.
// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>
#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace coracle_test {
/// A folder that is removed with all that is in it.
class temporary_folder {
 public:
  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "coracle_test.XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()));
    path_ = name;
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path) << text;
}
inline std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return std::move(text).str();
}
/// Returns text in which neighbouring blocks differ.
inline std::string patterned(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i != size; ++i) text[i] = static_cast<char>(i * i / 7 + i / 256);
  return text;
}
}  // namespace coracle_test
