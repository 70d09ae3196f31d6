// tour/index.cpp -- counts every text file below a directory, on several threads.
// SPDX-License-Identifier: MIT
#include "index.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <cstring>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>

#include "count.hpp"
#include "open.hpp"
#include "walk.hpp"

namespace tour {
namespace {
using clock = std::chrono::steady_clock;

constexpr std::size_t buffer_size = 256 * 1024;
constexpr std::uint64_t growth_limit = 64 * 1024 * 1024;

struct counted_file {
  text_counts counts;
  std::string skipped;  // empty: it was counted
};

/// What one worker has for itself: a buffer to read into, and the names it has found so far.
struct worker_memory {
  std::vector<char> buffer = std::vector<char>(buffer_size);
  name_table names;
};

/// Fills the buffer unless the file ends first. False: errno says why.
bool read_piece(int file, std::vector<char>& buffer, std::uint64_t limit, std::string_view& piece) {
  const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), limit);
  std::size_t filled = 0;
  while (filled != wanted) {
    const ssize_t got = ::read(file, buffer.data() + filled, wanted - filled);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (got == 0) {
      break;
    } else if (errno != EINTR) {
      return false;
    }
  }
  piece = {buffer.data(), filled};
  return true;
}

/// Counts an open file into `names`, which keeps part of it if the file turns out not to be text.
counted_file count_pieces(int file, std::string_view piece, std::uint64_t limit, std::vector<char>& buffer,
                          name_table& names) {
  text_counter counter(names);
  for (;;) {
    if (std::memchr(piece.data(), '\0', piece.size())) return {{}, "binary"};
    counter.add(piece);
    limit -= piece.size();
    if (piece.size() < buffer.size() || limit == 0) return {counter.finish(), {}};
    if (!read_piece(file, buffer, limit, piece)) return {{}, reason_of(errno)};
  }
}

counted_file count_file(const std::string& path, worker_memory& mine) {
  const file_descriptor file = open_to_read(path);
  struct stat status;
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return {{}, reason_of(errno)};
  // It may be another file now than the one that was listed.
  if (!S_ISREG(status.st_mode)) return {{}, reason_of_type(status.st_mode)};
  const std::uint64_t limit = std::max(static_cast<std::uint64_t>(status.st_size), growth_limit);

  std::string_view piece;
  if (!read_piece(file.number(), mine.buffer, limit, piece)) return {{}, reason_of(errno)};
  if (piece.size() < mine.buffer.size()) {
    return count_pieces(file.number(), piece, limit, mine.buffer, mine.names);
  }
  // A late NUL byte must not leave the names before it in the table.
  name_table names;
  counted_file counted = count_pieces(file.number(), piece, limit, mine.buffer, names);
  if (counted.skipped.empty()) mine.names.add(names);
  return counted;
}

/// What the workers share. Everything but the mutex belongs to the one that holds it.
struct shared_index {
  shared_index(const std::filesystem::path& root, std::function<void(const progress&)> callback)
      : on_progress(std::move(callback)), files(walk(root)) {}

  void add(const counted_file& file) {
    if (!file.skipped.empty()) {
      ++skipped[file.skipped];
    } else {
      ++totals.files;
      totals.bytes += file.counts.bytes;
      totals.lines += file.counts.lines;
      totals.words += file.counts.words;
    }
    if (on_progress && clock::now() >= next_report) report();
  }
  void report() {
    on_progress({totals.files, totals.bytes});
    next_report = clock::now() + std::chrono::milliseconds(50);
  }
  /// False: there are no more files.
  bool next_file(std::string& path) {
    bool found = false;
    for (; !found && position != files.end(); ++position) {
      walked_file& here = *position;
      found = here.skipped.empty();
      if (found) {
        path.swap(here.path);
      } else {
        add({{}, here.skipped});
      }
    }
    return found;
  }

  coracle::async_mutex mutex;
  index_totals totals;
  std::map<std::string, std::uint64_t> skipped;
  name_table names;
  std::function<void(const progress&)> on_progress;
  clock::time_point next_report = clock::now();
  coracle::generator<walked_file&> files;
  decltype(files.begin()) position = files.begin();
};

/// One worker: hands in a file's counts and takes the next path under one lock, then counts without it.
coracle::task<> count_files(shared_index& shared) {
  worker_memory mine;
  counted_file counted;
  std::string path;
  for (bool first = true;; first = false) {
    {
      const auto lock = co_await shared.mutex.scoped_lock_async();
      if (!first) shared.add(counted);
      if (!shared.next_file(path)) {
        shared.names.add(mine.names);
        co_return;
      }
    }
    counted = count_file(path, mine);
  }
}

std::vector<std::pair<std::string, std::uint64_t>> most_frequent(const name_table& names) {
  auto all = names.entries();
  const auto ten = all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(all.size(), 10));
  std::partial_sort(all.begin(), ten, all.end(), [](const auto& a, const auto& b) {
    return std::tie(b.second, a.first) < std::tie(a.second, b.first);
  });
  return {all.begin(), ten};
}
}  // namespace

index_totals index_tree(const std::filesystem::path& root, std::size_t threads,
                        std::function<void(const progress&)> on_progress) {
  const clock::time_point start = clock::now();
  shared_index shared(root, std::move(on_progress));
  coracle::static_thread_pool pool(std::max<std::size_t>(threads, 1));
  std::vector<coracle::task<>> workers;
  for (std::size_t i = 0; i != pool.thread_count(); ++i) {
    workers.push_back(coracle::schedule_on(count_files(shared), pool));
  }
  coracle::sync_wait(coracle::when_all(std::move(workers)));

  if (shared.on_progress) shared.report();
  for (const auto& [reason, files] : shared.skipped) shared.totals.skipped.push_back({reason, files});
  std::sort(shared.totals.skipped.begin(), shared.totals.skipped.end(),
            [](const skip_count& a, const skip_count& b) {
              return std::tie(b.files, a.reason) < std::tie(a.files, b.reason);
            });
  shared.totals.top_words = most_frequent(shared.names);
  shared.totals.seconds = std::chrono::duration<double>(clock::now() - start).count();
  return std::move(shared.totals);
}
}  // namespace tour
