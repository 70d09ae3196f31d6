// bench/micro/file_bench.cpp -- reading and writing a file, next to the bare system calls.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/read_write_file.hpp>
#include <filesystem>
#include <string>

#include "measure.hpp"

namespace {
using coracle::io_service;
using coracle::read_write_file;
using coracle::task;
using coracle_bench::measure;

constexpr std::size_t block_size = 4096, blocks = 256;

/// A file of 1 MiB in the page cache, already unlinked.
struct cached_file {
  io_service io;
  read_write_file file = create(io);
  std::array<char, block_size> block{};

  static read_write_file create(io_service& io) {
    std::string name = (std::filesystem::temp_directory_path() / "coracle_file_bench.XXXXXX").string();
    const int fd = ::mkstemp(name.data());
    std::string text(block_size * blocks, 'b');
    static_cast<void>(!::write(fd, text.data(), text.size()));
    ::close(fd);
    read_write_file opened = read_write_file::open(io, name);
    std::filesystem::remove(name);
    return opened;
  }
  static std::uint64_t offset(long i) { return block_size * (static_cast<std::uint64_t>(i) % blocks); }
};

task<> stop_after(io_service& io, task<> work) {
  co_await std::move(work);
  io.stop();
}
task<> process(io_service& io) {
  io.process_events();
  co_return;
}
/// Runs on this thread, which processes the events.
void run(io_service& io, task<> work) {
  io.reset();
  coracle::sync_wait(coracle::when_all(stop_after(io, std::move(work)), process(io)));
}

task<> read_blocks(cached_file& its, long n) {
  co_await its.io.schedule();
  for (long i = 0; i < n; ++i) {
    co_await its.file.read(cached_file::offset(i), its.block.data(), block_size);
  }
}
task<> write_blocks(cached_file& its, long n) {
  co_await its.io.schedule();
  for (long i = 0; i < n; ++i) {
    co_await its.file.write(cached_file::offset(i), its.block.data(), block_size);
  }
}

void file_read_4k_cached(benchmark::State& state) {
  cached_file its;
  measure(state, 10'000, [&](long n) { run(its.io, read_blocks(its, n)); });
}
void floor_file_read_4k_cached(benchmark::State& state) {
  cached_file its;
  measure(state, 10'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      const auto offset = static_cast<off_t>(cached_file::offset(i));
      coracle_bench::need(::pread(its.file.native_handle(), its.block.data(), block_size, offset));
    }
  });
}
void file_write_4k(benchmark::State& state) {
  cached_file its;
  measure(state, 10'000, [&](long n) { run(its.io, write_blocks(its, n)); });
}
void floor_file_write_4k(benchmark::State& state) {
  cached_file its;
  measure(state, 10'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      const auto offset = static_cast<off_t>(cached_file::offset(i));
      coracle_bench::need(::pwrite(its.file.native_handle(), its.block.data(), block_size, offset));
    }
  });
}

CORACLE_BENCH(file_read_4k_cached);
CORACLE_BENCH(floor_file_read_4k_cached);
CORACLE_BENCH(file_write_4k);
CORACLE_BENCH(floor_file_write_4k);
}  // namespace
