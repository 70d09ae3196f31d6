// examples/13_directory_sizes.cpp -- where the bytes are: an async_generator asks the disk on a pool that has
// nothing else to do, since these calls block, and its consumer adds up. With a path as argument it counts
// below that one. Example 40 walks a directory without blocking.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <coracle/coracle.hpp>
#include <coracle/generators/async_generator.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace fs = std::filesystem;

struct found_file {
  std::string directory;  // relative to the root
  std::uintmax_t bytes;
};

coracle::async_generator<const found_file> files_below(fs::path root, coracle::static_thread_pool& pool) {
  co_await pool.schedule();
  const auto options = fs::directory_options::skip_permission_denied;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root, options)) {
    if (entry.is_symlink() || !entry.is_regular_file()) continue;
    const found_file file{entry.path().parent_path().lexically_relative(root).string(), entry.file_size()};
    co_yield file;
    co_await pool.schedule();  // wherever the consumer was, read the disk on the pool
  }
}

struct total {
  std::uintmax_t bytes = 0;
  int files = 0;
};

coracle::task<std::map<std::string, total>> add_up(coracle::async_generator<const found_file> files) {
  std::map<std::string, total> totals;
  while (const found_file* file = co_await files.next()) {
    total& sum = totals[file->directory];
    sum.bytes += file->bytes;
    ++sum.files;
  }
  co_return totals;
}

void print(const std::map<std::string, total>& totals) {
  std::uintmax_t all = 0;
  std::size_t widest = 9;
  for (const auto& [directory, sum] : totals) {
    all += sum.bytes;
    widest = std::max(widest, directory.size());
  }
  std::printf("%-*s  %-20s   share     bytes files\n", static_cast<int>(widest), "directory", "");
  for (const auto& [directory, sum] : totals) {
    const double share = all == 0 ? 0 : static_cast<double>(sum.bytes) / static_cast<double>(all);
    const std::string bar(static_cast<std::size_t>(20 * share + 0.5), '#');
    std::printf("%-*s |%-20s| %5.1f %% %9ju %5d\n", static_cast<int>(widest), directory.c_str(), bar.c_str(),
                100 * share, sum.bytes, sum.files);
  }
  std::printf("%-*s  %-20s          %10ju\n", static_cast<int>(widest), "total", "", all);
}

/// A small tree in the temporary directory, removed at the end of the scope.
class sample_tree {
 public:
  sample_tree() {
    add("readme.txt", 500);
    add("docs/guide.txt", 1000);
    add("docs/pictures/boat.svg", 3000);
    add("src/main.cpp", 2000);
    add("src/oar.cpp", 2500);
    add("src/oar.hpp", 1000);
  }
  sample_tree(const sample_tree&) = delete;
  sample_tree& operator=(const sample_tree&) = delete;
  ~sample_tree() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }

  const fs::path root = fs::temp_directory_path() / ("coracle_sizes_" + std::to_string(::getpid()));

 private:
  void add(const fs::path& file, std::size_t bytes) const {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << std::string(bytes, '.');
  }
};

int main(int argc, char** argv) try {
  coracle::static_thread_pool pool{2};
  if (argc > 1) {
    print(coracle::sync_wait(add_up(files_below(argv[1], pool))));
  } else {
    const sample_tree sample;
    print(coracle::sync_wait(add_up(files_below(sample.root, pool))));
  }
} catch (const fs::filesystem_error& error) {  // thrown on the pool, through the generator and the task
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

// Output:
//   directory                             share     bytes files
//   .             |#                   |   5.0 %       500     1
//   docs          |##                  |  10.0 %      1000     1
//   docs/pictures |######              |  30.0 %      3000     1
//   src           |###########         |  55.0 %      5500     3
//   total                                             10000
