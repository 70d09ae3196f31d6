// tests/unit/copy_file_test.cpp -- what only files of the system have: holes, generated files, other file
// systems, limits. copy_file_contract_test.cpp has what holds for a simulated host too.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coracle/io/copy_file.hpp>
#include <coracle/io/io_service.hpp>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>

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
}  // namespace
