// examples/40_copy_tree.cpp -- cp -r with a progress bar: 8 files at a time, links copied as links.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace fs = coracle::filesystem;
using coracle::task;

/// Draws itself again for each percent on a terminal, for each quarter elsewhere.
class progress_bar {
 public:
  explicit progress_bar(std::uint64_t total) : total_(total) {}
  void add(std::uint64_t bytes) {
    done_ += bytes;
    const auto percent = static_cast<unsigned>(total_ == 0 ? 100 : 100 * done_ / total_);
    for (; shown_ + step_ <= percent; shown_ += step_) draw(shown_ + step_);
  }

 private:
  void draw(unsigned percent) const {
    const std::string bar(percent / 5, '#');
    std::printf("%s[%-20s] %3u %%%s", is_terminal_ ? "\r" : "", bar.c_str(), percent,
                is_terminal_ && percent != 100 ? "" : "\n");
    std::fflush(stdout);
  }

  const bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  const unsigned step_ = is_terminal_ ? 1 : 25;
  const std::uint64_t total_;
  std::uint64_t done_ = 0;
  unsigned shown_ = 0;
};

struct contents {
  std::vector<std::string> files, links;
  std::uint64_t bytes = 0;
};

/// Creates the directories below `to`, and returns the files to copy into them.
task<contents> make_directories(const coracle::directory& from, const coracle::directory& to) {
  contents found;
  auto entries = fs::walk_directory(from, ".");
  while (const coracle::directory_entry* entry = co_await entries.next()) {
    const coracle::file_status& about = entry->status;
    if (about.is_directory()) {
      co_await fs::create_directory(to, entry->path, about.permissions | std::filesystem::perms::owner_all);
    } else if (about.is_symlink()) {
      found.links.push_back(entry->path);
    } else if (about.is_regular_file()) {
      found.files.push_back(entry->path);
      found.bytes += about.size;
    }
  }
  co_return found;
}

task<> copy_one(const coracle::directory& from, const coracle::directory& to, std::string path,
                progress_bar& bar) {
  std::uint64_t before = 0;
  const auto advance = [&](std::uint64_t bytes) { bar.add(bytes - std::exchange(before, bytes)); };
  co_await fs::copy_file(from, path, to, path, coracle::file_open_mode::create_new, advance);
}

task<> copy_tree(coracle::io_service& io, std::filesystem::path from_path, std::filesystem::path to_path) {
  const coracle::directory from = co_await fs::open_directory(io, from_path);
  co_await fs::create_directory(io, to_path);
  const coracle::directory to = co_await fs::open_directory(io, to_path);
  const contents found = co_await make_directories(from, to);
  progress_bar bar{found.bytes};
  const auto copy = [&](const std::string& path) { return copy_one(from, to, path, bar); };
  co_await coracle::for_each_concurrent(found.files, 8, copy);
  for (const std::string& link : found.links) {
    std::filesystem::path target = co_await fs::read_symlink(from, link);
    co_await fs::create_symlink(to, std::move(target), link);
  }
  std::printf("%zu files, %zu links, %ju bytes\n", found.files.size(), found.links.size(),
              static_cast<std::uintmax_t>(found.bytes));
}

/// Without arguments: creates a tree, copies it, and lists the copy.
task<> demonstrate(coracle::io_service& io, std::filesystem::path folder) {
  std::filesystem::create_directories(folder / "boat/hull/ribs");
  for (const char* name : {"boat/oar", "boat/hull/hide", "boat/hull/ribs/hazel", "boat/hull/ribs/willow"})
    std::ofstream(folder / name) << std::string(2'000, '.');
  std::filesystem::create_symlink("hull/hide", folder / "boat/skin");
  co_await copy_tree(io, folder / "boat", folder / "copy");
  const coracle::file_status skin = co_await fs::status(io, folder / "copy/skin");
  std::printf("skin leads to %ju bytes\n", static_cast<std::uintmax_t>(skin.size));
}

/// 40_copy_tree FROM TO copies the directory FROM to TO, which it creates.
int main(int argc, char** argv) try {
  coracle::io_service io;
  if (argc == 3) {
    io.run(copy_tree(io, argv[1], argv[2]));
  } else {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("coracle_copy_tree." + std::to_string(::getpid()));
    const auto removed_at_end = coracle::on_scope_exit([&] { std::filesystem::remove_all(folder); });
    io.run(demonstrate(io, folder));
  }
} catch (const std::system_error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

// Output:
//   [#####               ]  25 %
//   [##########          ]  50 %
//   [###############     ]  75 %
//   [####################] 100 %
//   4 files, 1 links, 8000 bytes
//   skin leads to 2000 bytes
