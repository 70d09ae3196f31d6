// tests/unit/copy_file_test.cpp -- what only files of the system have: holes, generated files, other file
// systems, limits. copy_file_contract_test.cpp has what holds for a simulated host too.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <coracle/io/copy_file.hpp>
#include <coracle/io/io_service.hpp>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "../support/abort_message.hpp"
#include "../support/inert_io_system.hpp"
#include "../support/temporary_folder.hpp"

namespace {
namespace fs = coracle::filesystem;
using coracle::file_open_mode;
using coracle::task;
using coracle_test::patterned;
using coracle_test::text_of;
using coracle_test::write_text;

struct two_files {
  coracle_test::temporary_folder folder;
  coracle::io_service io;
  std::filesystem::path from = folder / "from", to = folder / "to";

  std::uint64_t copy(file_open_mode mode = file_open_mode::create_new) {
    std::uint64_t size = 0;
    const auto work = [&]() -> task<> { size = co_await fs::copy_file(io, from, io, to, mode); };
    io.run(work());
    return size;
  }
  std::string failure(file_open_mode mode = file_open_mode::create_new) {
    try {
      copy(mode);
    } catch (const std::system_error& error) {
      return error.what();
    }
    return {};
  }
};

TEST_CASE("copy_file: holes stay holes, also at both ends") {
  two_files files;
  constexpr std::uint64_t size = std::uint64_t{64} << 20;
  {
    write_text(files.from, "");
    const int fd = ::open(files.from.c_str(), O_WRONLY | O_CLOEXEC);
    REQUIRE(::pwrite(fd, "first", 5, std::int64_t{8} << 20) == 5);
    REQUIRE(::pwrite(fd, "second", 6, std::int64_t{40} << 20) == 6);
    REQUIRE(::ftruncate(fd, size) == 0);
    ::close(fd);
  }
  CHECK(files.copy() == size);
  struct ::stat from{}, to{};
  REQUIRE(::stat(files.from.c_str(), &from) == 0);
  REQUIRE(::stat(files.to.c_str(), &to) == 0);
  CHECK(to.st_size == from.st_size);
  CHECK(to.st_blocks <= from.st_blocks + 64);
  const bool same = text_of(files.from) == text_of(files.to);
  CHECK(same);
}

/// That of the process, but a file to which data is appended at each time when a search has found no more.
class system_with_a_growing_file final : public coracle_test::inert_io_system {
 public:
  explicit system_with_a_growing_file(std::filesystem::path growing) : growing_(std::move(growing)) {}

  std::chrono::steady_clock::time_point now() noexcept override { return its_.now(); }
  std::uint64_t ticks() noexcept override { return its_.ticks(); }
  std::unique_ptr<coracle::detail::io_backend> backend_for(coracle::detail::io_loop& loop) override {
    return its_.backend_for(loop);
  }
  int status(int fd, struct ::stat& about) noexcept override { return its_.status(fd, about); }
  int set_size(int fd, std::uint64_t size) noexcept override { return its_.set_size(fd, size); }
  std::int64_t copy_range(int from, int to, std::uint64_t offset, std::size_t size) noexcept override {
    return its_.copy_range(from, to, offset, size);
  }
  std::int64_t seek(int fd, std::uint64_t offset, int whence) noexcept override {
    const std::int64_t found = its_.seek(fd, offset, whence);
    if (found == -ENXIO && times_ != 0) {
      --times_;
      append();
    }
    return found;
  }
  std::int64_t read_at(int fd, void* to, std::size_t size, std::uint64_t offset) noexcept override {
    return its_.read_at(fd, to, size, offset);
  }
  std::int64_t write_at(int fd, const void* from, std::size_t size, std::uint64_t offset) noexcept override {
    return its_.write_at(fd, from, size, offset);
  }

 private:
  void append() noexcept {
    const int fd = ::open(growing_.c_str(), O_WRONLY | O_CLOEXEC | O_APPEND);
    CHECK(::write(fd, "more", 4) == 4);
    ::close(fd);
  }

  io_system& its_ = linux_system();
  std::filesystem::path growing_;
  int times_ = 2;
};

TEST_CASE("copy_file: what is appended to a file with holes meanwhile is copied, or is not there") {
  coracle_test::temporary_folder folder;
  const std::filesystem::path from = folder / "from", to = folder / "to";
  write_text(from, "");
  std::filesystem::resize_file(from, std::uint64_t{4} << 20);
  system_with_a_growing_file system{from};
  coracle::io_service io{system};
  const auto work = [&]() -> task<> {
    CHECK(co_await fs::copy_file(io, from, io, to) == std::filesystem::file_size(to));
  };
  io.run(work());
  const std::string whole = text_of(from), copied = text_of(to);
  CHECK(copied.size() >= std::size_t{4} << 20);
  const bool is_beginning = whole.starts_with(copied);
  CHECK(is_beginning);
}

TEST_CASE("copy_file: a file that the system generates is copied though its size is 0") {
  two_files files;
  files.from = "/proc/version";
  CHECK(files.copy() > 0);
  CHECK(text_of(files.to) == text_of(files.from));
}

TEST_CASE("copy_file: to another file system") {
  two_files files;
  const std::filesystem::path other = "/dev/shm";
  if (!std::filesystem::is_directory(other)) return;
  const std::string text = patterned(3'000'000);
  write_text(files.from, text);
  files.to = other / ("coracle_copy." + std::to_string(::getpid()));
  CHECK(files.copy() == text.size());
  const bool same = text_of(files.to) == text;
  CHECK(same);
  std::filesystem::remove(files.to);
}

TEST_CASE("copy_file: a file that may grow no further is an error") {
  two_files files;
  write_text(files.from, patterned(1'000'000));
  struct ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct ::rlimit small = before;
  small.rlim_cur = 100'000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string failure = files.failure();
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(failure == "cannot copy " + files.from.native() + " to " + files.to.native() + ": File too large");
}

TEST_CASE("copy_file: appending ends the program and says so, and nothing is created") {
  two_files files;
  write_text(files.from, "text");
  static const two_files* at;
  at = &files;
  CHECK(coracle_test::abort_message([] {
          coracle::io_service io;
          io.run(fs::copy_file(io, at->from, io, at->to, file_open_mode::append));
        }) ==
        "coracle: copy_file() with file_open_mode::append, but a copy replaces what the file contains: pass "
        "another mode, or use read_file() and append_to_file()\n");
  CHECK(!std::filesystem::exists(files.to));
}
}  // namespace
