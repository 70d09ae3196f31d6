// tour/progress_bar.hpp -- how far a long job is, on a terminal.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "format.hpp"

namespace tour {
/// One line that rewrites itself, and is gone in the end.
class progress_bar {
 public:
  /// `expected_bytes`: 0 if nobody knows. `columns`: of the screen.
  progress_bar(std::uint64_t expected_bytes, std::size_t columns)
      : expected_(expected_bytes), width_(std::min<std::size_t>(40, columns - std::min(columns, figures))) {}
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;
  ~progress_bar() {
    std::printf("\r\x1b[K");
    std::fflush(stdout);
  }

  void show(std::uint64_t files, std::uint64_t bytes) const {
    const std::string text = plural(files, "file") + ", " + byte_size(static_cast<double>(bytes));
    std::printf("\r\x1b[K  %s %s", drawn(bytes).c_str(), text.c_str());
    std::fflush(stdout);
  }

 private:
  [[nodiscard]] std::string drawn(std::uint64_t bytes) const {
    if (expected_ == 0) return "reading";
    const double share = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(expected_));
    const auto full = static_cast<std::size_t>(share * static_cast<double>(width_));
    return repeated("█", full) + repeated("░", width_ - full);
  }

  static constexpr std::size_t figures =
      40;  // columns beside the bar: "  123,456 files, 1023.9 MiB", and some
  std::uint64_t expected_;
  std::size_t width_;
};
}  // namespace tour
