// bench/scenario/io_files.cpp -- copies a large file, and reads many small ones.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "scenario.hpp"
#include "scratch_file.hpp"

namespace {
using coracle::io_service;
using coracle::read_only_file;
using coracle::task;
using coracle::write_only_file;
using namespace coracle_bench;

// ---- copy ---------------------------------------------------------------------------------------------

constexpr std::size_t copied_bytes = std::size_t{512} << 20, copied_block = std::size_t{1} << 16;

struct copy_of {
  scratch_file from{copied_bytes};
  std::string to = from.name() + ".copy";
  std::vector<char> buffer = std::vector<char>(copied_block);

  copy_of() = default;
  copy_of(const copy_of&) = delete;
  copy_of& operator=(const copy_of&) = delete;
  ~copy_of() { std::filesystem::remove(to); }
  void expect(const scenario& run) const {
    run.expect(std::filesystem::file_size(to) == copied_bytes, "all is copied");
  }
};
task<> copy(io_service& io, copy_of& its) {
  const auto from = read_only_file::open(io, its.from.name());
  auto to = write_only_file::open(io, its.to);
  std::uint64_t at = 0;
  while (const std::size_t got = co_await from.read(at, its.buffer.data(), copied_block)) {
    co_await to.write_all(at, its.buffer.data(), got);
    at += got;
  }
}
void copy_of_a_file(scenario& run) {
  copy_of its;
  io_service io;
  run.measure([&] { io.run(copy(io, its)); });
  its.expect(run);
}
void loop_copy_of_a_file(scenario& run) {
  copy_of its;
  run.measure([&] {
    const int from = ::open(its.from.name().c_str(), O_RDONLY | O_CLOEXEC);
    const int to = ::open(its.to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    off_t at = 0;
    while (const ssize_t got = ::pread(from, its.buffer.data(), copied_block, at)) {
      if (got < 0 || ::pwrite(to, its.buffer.data(), static_cast<std::size_t>(got), at) != got) break;
      at += got;
    }
    ::close(to);
    ::close(from);
  });
  its.expect(run);
}

// ---- small files --------------------------------------------------------------------------------------

constexpr int small_files = 10'000, at_a_time = 64;
constexpr std::size_t small_size = 1000;

class folder_of_small_files {
 public:
  folder_of_small_files() {
    if (!::mkdtemp(name_.data())) throw std::runtime_error("no folder can be made: " + name_);
    for (int i = 0; i != small_files; ++i) std::ofstream{path(i)} << std::string(small_size, 's');
  }
  folder_of_small_files(const folder_of_small_files&) = delete;
  folder_of_small_files& operator=(const folder_of_small_files&) = delete;
  ~folder_of_small_files() { std::filesystem::remove_all(name_); }
  [[nodiscard]] std::string path(int i) const { return name_ + "/" + std::to_string(i); }

 private:
  std::string name_ = (std::filesystem::temp_directory_path() / "coracle_scenario.XXXXXX").string();
};

task<std::size_t> read_all(io_service& io, std::string path) {
  char buffer[4096];
  const auto file = read_only_file::open(io, path);
  co_return co_await file.read(0, buffer, sizeof buffer);
}
void read_small_files(scenario& run) {
  const folder_of_small_files folder;
  std::vector<int> numbers(small_files);
  for (int i = 0; i != small_files; ++i) numbers[static_cast<std::size_t>(i)] = i;
  io_service io;
  std::size_t bytes = 0;
  run.measure([&] {
    const auto add = [&](int i) -> task<> { bytes += co_await read_all(io, folder.path(i)); };
    io.run(coracle::for_each_concurrent(numbers, at_a_time, add));
  });
  run.expect(bytes == small_files * small_size, "all is read");
}
void loop_read_small_files(scenario& run) {
  const folder_of_small_files folder;
  std::size_t bytes = 0;
  run.measure([&] {
    char buffer[4096];
    for (int i = 0; i != small_files; ++i) {
      const int fd = ::open(folder.path(i).c_str(), O_RDONLY | O_CLOEXEC);
      bytes += static_cast<std::size_t>(::pread(fd, buffer, sizeof buffer, 0));
      ::close(fd);
    }
  });
  run.expect(bytes == small_files * small_size, "all is read");
}

CORACLE_SCENARIO(copy_of_a_file);
CORACLE_SCENARIO(loop_copy_of_a_file);
CORACLE_SCENARIO(read_small_files);
CORACLE_SCENARIO(loop_read_small_files);
}  // namespace
