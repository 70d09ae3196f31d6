// tour/index.hpp -- counts every text file below a directory, on several threads.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tour {
struct skip_count {
  std::string reason;
  std::uint64_t files = 0;
};

struct index_totals {
  std::uint64_t files = 0, bytes = 0, lines = 0, words = 0;
  std::vector<skip_count> skipped;  ///< the most frequent reason first
  /// The most frequent names, at most ten: by count, then in the order of their bytes.
  std::vector<std::pair<std::string, std::uint64_t>> top_words;
  double seconds = 0;  ///< from the call to the return
};

struct progress {
  std::uint64_t files_done = 0, bytes_done = 0;
};

/// Files, bytes, lines and words of all text files below `root`, as `find root -type f` lists them and
/// `LC_ALL=C wc` counts them. A text file has no NUL byte; every other file is skipped, with a reason. A file
/// that is still growing is read as far as it went when it was opened, or 64 MiB if that is more.
///
/// The names are identifiers, not what wc calls words: among those a lone "{" would win. count.hpp says what
/// a name is.
///
/// `on_progress`, if it is not empty, is called by one thread at a time, whichever it is: every 50 ms at
/// most, and once at the end.
index_totals index_tree(const std::filesystem::path& root, std::size_t threads,
                        std::function<void(const progress&)> on_progress);
}  // namespace tour
