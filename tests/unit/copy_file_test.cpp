// tests/unit/copy_file_test.cpp -- copying a file: contents, holes, permissions, errors, cancellation.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/copy_file.hpp>
#include <coracle/io/io_service.hpp>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "../support/temporary_folder.hpp"

namespace {
namespace fs = coracle::filesystem;
using coracle::file_open_mode;
using coracle::task;
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
std::string pattern(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i != size; ++i) text[i] = static_cast<char>(i * i / 7 + i / 256);
  return text;
}

TEST_CASE("copy_file: the copy has the contents and the permissions") {
  two_files files;
  const ::mode_t umask = ::umask(0022);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{1'000'003}}) {
    const std::string text = pattern(size);
    write_text(files.from, text);
    std::filesystem::permissions(files.from, static_cast<std::filesystem::perms>(0750));
    CHECK(files.copy() == size);
    const bool same = text_of(files.to) == text;
    CHECK(same);
    CHECK(std::filesystem::status(files.to).permissions() == static_cast<std::filesystem::perms>(0750));
    std::filesystem::remove(files.to);
  }
  ::umask(umask);
}

TEST_CASE("copy_file: an existing file is an error or replaced, as asked") {
  two_files files;
  write_text(files.from, "new");
  write_text(files.to, "older and longer");
  const std::string path = files.to.native();
  CHECK(files.failure() == "cannot open " + path + ": File exists");
  CHECK(text_of(files.to) == "older and longer");
  CHECK(files.copy(file_open_mode::truncate_existing) == 3);
  CHECK(text_of(files.to) == "new");
  write_text(files.to, "older and longer");
  CHECK(files.copy(file_open_mode::create_always) == 3);
  CHECK(text_of(files.to) == "new");
  std::filesystem::remove(files.to);
  CHECK(files.failure(file_open_mode::truncate_existing) ==
        "cannot open " + path + ": No such file or directory");
}

TEST_CASE("copy_file: a file is not copied onto itself, under whatever name") {
  two_files files;
  write_text(files.from, "text");
  std::filesystem::create_hard_link(files.from, files.to);
  CHECK(files.failure(file_open_mode::create_always) ==
        "cannot copy " + files.from.native() + " to " + files.to.native() + ": File exists");
  CHECK(text_of(files.from) == "text");
}

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
  const std::string text = pattern(3'000'000);
  write_text(files.from, text);
  files.to = other / ("coracle_copy." + std::to_string(::getpid()));
  CHECK(files.copy() == text.size());
  const bool same = text_of(files.to) == text;
  CHECK(same);
  std::filesystem::remove(files.to);
}

TEST_CASE("copy_file: relative paths begin in the two directories") {
  two_files files;
  std::filesystem::create_directory(files.folder / "a");
  std::filesystem::create_directory(files.folder / "b");
  write_text(files.folder / "a/name", "text");
  const auto work = [&]() -> task<> {
    const coracle::directory a = co_await fs::open_directory(files.io, files.folder / "a");
    const coracle::directory b = co_await fs::open_directory(files.io, files.folder / "b");
    co_await fs::copy_file(a, "name", b, "name");
  };
  files.io.run(work());
  CHECK(text_of(files.folder / "b/name") == "text");
}

TEST_CASE("copy_file: errors name the paths") {
  two_files files;
  const std::string from = files.from.native(), to = files.to.native();
  CHECK(files.failure() == "cannot open " + from + ": No such file or directory");
  CHECK(!std::filesystem::exists(files.to));
  std::filesystem::create_directory(files.from);
  CHECK(files.failure() == "cannot open " + from + ": Is a directory");
  files.from = "/dev/null";
  std::filesystem::create_directory(files.to);
  CHECK(files.failure(file_open_mode::create_always) == "cannot open " + to + ": Is a directory");
}

TEST_CASE("copy_file: a file that may grow no further is an error") {
  two_files files;
  write_text(files.from, pattern(1'000'000));
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

TEST_CASE("copy_file: progress is reported, and stops the copy between two pieces") {
  two_files files;
  constexpr std::uint64_t mib = 1 << 20;
  write_text(files.from, std::string(40 * mib, 'x'));
  std::vector<std::uint64_t> seen;
  coracle::stop_source stop;
  std::string end;
  const auto work = [&](bool stops) -> task<> {
    const auto note = [&](std::uint64_t bytes) {
      seen.push_back(bytes);
      if (stops) stop.request_stop();
    };
    try {
      co_await fs::copy_file(files.io, files.from, files.io, files.to, file_open_mode::create_always, note);
      end = "copied";
    } catch (const coracle::operation_cancelled&) {
      end = "cancelled";
    }
  };
  files.io.run(work(false));
  CHECK(end == "copied");
  REQUIRE(!seen.empty());
  CHECK(seen.back() == 40 * mib);
  if (seen.size() == 1) return;  // the two files share their blocks
  CHECK(seen.front() == 16 * mib);
  seen.clear();
  files.io.run(coracle::with_stop(work(true), stop.get_token()));
  CHECK(end == "cancelled");
  CHECK(seen.size() == 1);
}
}  // namespace
