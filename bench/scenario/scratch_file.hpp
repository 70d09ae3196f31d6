// bench/scenario/scratch_file.hpp -- a temporary file of a given size, in the page cache once it is made.
// SPDX-License-Identifier: MIT
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace coracle_bench {
class scratch_file {
 public:
  explicit scratch_file(std::size_t size) {
    const int fd = ::mkostemp(name_.data(), O_CLOEXEC);
    if (fd < 0) throw std::runtime_error("no scratch file can be made: " + name_);
    const std::vector<char> block(std::size_t{1} << 20, 'b');
    for (std::size_t done = 0; done != size;) {
      const ssize_t more = ::write(fd, block.data(), std::min(block.size(), size - done));
      if (more <= 0) throw std::runtime_error("no space for " + name_);
      done += static_cast<std::size_t>(more);
    }
    ::fsync(fd);
    ::close(fd);
  }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;
  ~scratch_file() { std::filesystem::remove(name_); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_ = (std::filesystem::temp_directory_path() / "coracle_scenario.XXXXXX").string();
};
}  // namespace coracle_bench
