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
  /// `expected_bytes`: 0 if nobody knows.
  explicit progress_bar(std::uint64_t expected_bytes) : expected_(expected_bytes) {}
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
    constexpr std::size_t width = 40;
    const double share = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(expected_));
    const auto full = static_cast<std::size_t>(share * width);
    return repeated("█", full) + repeated("░", width - full);
  }

  std::uint64_t expected_;
};
}  // namespace tour
