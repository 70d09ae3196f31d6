// bench/scenario/io_direct.cpp -- reads of random 4 KiB blocks that bypass the page cache, 128 concurrently.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "raw_ring.hpp"
#include "scenario.hpp"
#include "scratch_file.hpp"

namespace {
using coracle::io_service;
using coracle::read_only_file;
using coracle::task;
using namespace coracle_bench;

constexpr std::size_t block = 4096, blocks = std::size_t{1} << 16;
constexpr unsigned depth = 128;
constexpr long reads = 100'000;

/// The same blocks in the same order in each run.
class walk {
 public:
  [[nodiscard]] bool has_more() const noexcept { return left_ != 0; }
  std::uint64_t next() noexcept {
    --left_;
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 40) % blocks * block;
  }

 private:
  std::uint64_t state_ = 1;
  long left_ = reads;
};
struct buffers {
  buffers() : all(static_cast<char*>(std::aligned_alloc(block, block * depth))) {}
  buffers(const buffers&) = delete;
  buffers& operator=(const buffers&) = delete;
  ~buffers() { std::free(all); }
  [[nodiscard]] char* of(unsigned i) const noexcept { return all + i * block; }
  char* all;
};

void direct_reads_on(const char* engine, scenario& run) {
  ::setenv("CORACLE_IO", engine, 1);
  const scratch_file file{block * blocks};
  const buffers room;
  io_service io;
  const auto from = read_only_file::open(io, file.name(), coracle::file_share_mode::read,
                                         coracle::file_buffering_mode::unbuffered);
  walk its;
  long whole = 0;
  const auto read_some = [&](char* to) -> task<> {
    while (its.has_more()) {
      const std::size_t got = co_await from.read(its.next(), to, block);
      whole += got == block;
    }
  };
  run.measure([&] {
    std::vector<task<>> readers;
    for (unsigned i = 0; i != depth; ++i) readers.push_back(read_some(room.of(i)));
    io.run(coracle::when_all(std::move(readers)));
  });
  run.expect(whole == reads, "every block is whole");
}
void direct_reads(scenario& run) { direct_reads_on("io_uring", run); }
void direct_reads_epoll(scenario& run) { direct_reads_on("epoll", run); }

void loop_direct_reads(scenario& run) {
  const scratch_file file{block * blocks};
  const buffers room;
  const int from = ::open(file.name().c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  walk its;
  long whole = 0;
  run.measure([&] {
    raw_ring ring;
    const auto read = [&](unsigned i) {
      io_uring_sqe& entry = ring.push(IORING_OP_READ, from, i);
      entry.addr = reinterpret_cast<std::uint64_t>(room.of(i));
      entry.len = block;
      entry.off = its.next();
    };
    for (unsigned i = 0; i != depth; ++i) read(i);
    for (long over = 0; over != reads;) {
      ring.wait([&](const io_uring_cqe& completion) {
        ++over;
        whole += completion.res == block;
        if (its.has_more()) read(static_cast<unsigned>(completion.user_data));
      });
    }
  });
  ::close(from);
  run.expect(whole == reads, "every block is whole");
}

CORACLE_SCENARIO(direct_reads);
CORACLE_SCENARIO(direct_reads_epoll);
CORACLE_SCENARIO(loop_direct_reads);
}  // namespace
