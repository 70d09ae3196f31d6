// tour/open.hpp -- opens the files and directories of a tree that others may be changing.
// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace tour {
class file_descriptor {
 public:
  explicit file_descriptor(int opened = -1) noexcept : number_(opened) {}
  file_descriptor(file_descriptor&& other) noexcept : number_(other.release()) {}
  file_descriptor& operator=(file_descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~file_descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  /// Negative: not open.
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// Opens for reading, however long the path is. Never waits, as a FIFO would make it, and does not follow a
/// symbolic link at the path's end. Not open: errno says why.
file_descriptor open_to_read(const std::string& path, int more_flags = 0);

/// Why a file is skipped, for an errno.
std::string reason_of(int error);
/// Why a file of this st_mode is skipped; empty: it is a regular file.
std::string reason_of_type(mode_t mode);
}  // namespace tour
