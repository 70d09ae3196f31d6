// bench/scenario/io_trees.cpp -- walks a tree of directories, and copies a file inside the kernel.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fts.h>
#include <unistd.h>

#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <filesystem>
#include <string>

#include "scenario.hpp"
#include "scratch_file.hpp"

namespace {
using coracle::io_service;
using coracle::task;
using namespace coracle_bench;
namespace fs = coracle::filesystem;

// ---- walk ---------------------------------------------------------------------------------------------

constexpr const char* walked_folder = "/usr";

struct tree_total {
  std::size_t entries = 0;
  std::uintmax_t bytes = 0;
};
task<tree_total> walk(io_service& io) {
  tree_total total;
  auto entries = fs::walk_directory(io, walked_folder);
  while (const auto* entry = co_await entries.next()) {
    ++total.entries;
    if (!entry->status.is_directory()) total.bytes += entry->status.size;
  }
  co_return total;
}
tree_total loop_walk() {
  tree_total total;
  char folder[] = "/usr";
  char* const folders[] = {folder, nullptr};
  ::FTS* const tree = ::fts_open(folders, FTS_PHYSICAL, nullptr);
  while (const ::FTSENT* entry = ::fts_read(tree)) {
    if (entry->fts_info == FTS_DP || entry->fts_level == 0) continue;
    ++total.entries;
    if (entry->fts_info != FTS_D) total.bytes += static_cast<std::uintmax_t>(entry->fts_statp->st_size);
  }
  ::fts_close(tree);
  return total;
}
void walk_usr(scenario& run) {
  const tree_total expected = loop_walk();
  io_service io;
  tree_total total;
  run.measure([&] { total = io.run(walk(io)); });
  run.expect(total.entries == expected.entries && total.bytes == expected.bytes, "every entry is counted");
}
void loop_walk_usr(scenario& run) {
  const tree_total expected = loop_walk();
  tree_total total;
  run.measure([&] { total = loop_walk(); });
  run.expect(total.entries == expected.entries && total.bytes == expected.bytes, "every entry is counted");
}

// ---- copy ---------------------------------------------------------------------------------------------

constexpr std::size_t copied_bytes = std::size_t{512} << 20;

struct copy_of {
  scratch_file from{copied_bytes};
  std::string to = from.name() + ".copy";

  copy_of() = default;
  copy_of(const copy_of&) = delete;
  copy_of& operator=(const copy_of&) = delete;
  ~copy_of() { std::filesystem::remove(to); }
  void expect(const scenario& run) const {
    run.expect(std::filesystem::file_size(to) == copied_bytes, "all is copied");
  }
};
void copy_in_kernel(scenario& run) {
  const copy_of its;
  io_service io;
  run.measure([&] { io.run(fs::copy_file(io, its.from.name(), io, its.to)); });
  its.expect(run);
}
void loop_copy_in_kernel(scenario& run) {
  const copy_of its;
  run.measure([&] {
    const int from = ::open(its.from.name().c_str(), O_RDONLY | O_CLOEXEC);
    const int to = ::open(its.to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    while (::copy_file_range(from, nullptr, to, nullptr, copied_bytes, 0) > 0) {
    }
    ::close(to);
    ::close(from);
  });
  its.expect(run);
}

CORACLE_SCENARIO(walk_usr);
CORACLE_SCENARIO(loop_walk_usr);
CORACLE_SCENARIO(copy_in_kernel);
CORACLE_SCENARIO(loop_copy_in_kernel);
}  // namespace
