// tests/unit/filesystem_test.cpp -- operations on paths of the system: links, permissions, status, cost, what
// they leave. filesystem_contract_test.cpp has what holds for a simulated host too.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/whole_file.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "../support/test_coroutine.hpp"
#include "files_under_test.hpp"

namespace {
namespace fs = coracle::filesystem;
using coracle::directory;
using coracle::file_open_mode;
using coracle::file_status;
using coracle::task;
using coracle_test::failure_of;
using coracle_test::system_files;

TEST_CASE("filesystem: links of both kinds, and where they lead") {
  system_files here;
  here.write_text(here / "a", "text");
  const auto use = [&]() -> task<> {
    co_await fs::create_hard_link(here.io, here / "a", here / "hard");
    co_await fs::create_symlink(here.io, "a", here / "soft");
    co_await fs::create_symlink(here.io, "nowhere", here / "d/dangling");
    const file_status hard = co_await fs::status(here.io, here / "hard");
    const file_status soft = co_await fs::status(here.io, here / "soft");
    CHECK(hard.links == 2);
    CHECK(hard.inode == soft.inode);
    CHECK(hard.device == soft.device);
    const file_status itself = co_await fs::symlink_status(here.io, here / "soft");
    CHECK(itself.is_symlink());
    CHECK(itself.size == 1);
    CHECK(co_await fs::read_symlink(here.io, here / "soft") == "a");
    const directory d = co_await fs::open_directory(here.io, here / "d");
    CHECK(co_await fs::read_symlink(d, "dangling") == "nowhere");
    CHECK(!co_await fs::exists(d, "dangling"));
    CHECK(!co_await fs::exists(d, "dangling/below"));
    const std::string a = (here / "a").native();
    CHECK(co_await failure_of(fs::read_symlink(here.io, a)) ==
          "cannot read the symbolic link " + a + ": Invalid argument");
    CHECK(co_await failure_of(fs::create_hard_link(here.io, a, a)) ==
          "cannot link " + a + " to " + a + ": File exists");
    CHECK(co_await failure_of(fs::create_symlink(here.io, "x", a)) ==
          "cannot make a symbolic link to x at " + a + ": File exists");
  };
  here.io.run(use());
}

TEST_CASE("filesystem: directories are created and removed, with the permissions that are given") {
  system_files here;
  const ::mode_t umask = ::umask(0022);
  const auto use = [&]() -> task<> {
    using std::filesystem::perms;
    co_await fs::create_directory(here.io, here / "new");
    const file_status made = co_await fs::status(here.io, here / "new");
    CHECK(made.is_directory());
    CHECK(made.permissions == static_cast<perms>(0755));
    co_await fs::create_directory(here.io, here / "secret", perms::owner_all);
    const file_status secret = co_await fs::status(here.io, here / "secret");
    CHECK(secret.permissions == perms::owner_all);
    const std::string name = (here / "new").native();
    CHECK(co_await failure_of(fs::create_directory(here.io, name)) ==
          "cannot create the directory " + name + ": File exists");
    CHECK(co_await failure_of(fs::remove(here.io, name)) == "cannot remove " + name + ": Is a directory");
    co_await fs::remove_directory(here.io, name);
    CHECK(!co_await fs::exists(here.io, name));
    const auto file = co_await fs::open_write_only(here.io, here / "file", file_open_mode::create_new, {},
                                                   perms::owner_read);
    const file_status its = co_await fs::status(here.io, here / "file");
    CHECK(its.permissions == perms::owner_read);
  };
  here.io.run(use());
  ::umask(umask);
}

TEST_CASE("filesystem: the status is what stat(2) gives") {
  system_files here;
  here.write_text(here / "a", std::string(10'000, 'x'));
  struct ::stat expected{};
  REQUIRE(::stat((here / "a").c_str(), &expected) == 0);
  file_status found;
  const auto use = [&]() -> task<> { found = co_await fs::status(here.io, here / "a"); };
  here.io.run(use());
  const auto ns = [](std::chrono::system_clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  };
  const auto ns_of = [](const ::timespec& time) { return time.tv_sec * 1'000'000'000L + time.tv_nsec; };
  CHECK(found.size == 10'000);
  CHECK(found.inode == expected.st_ino);
  CHECK(found.device == expected.st_dev);
  CHECK(found.allocated == static_cast<std::uint64_t>(expected.st_blocks) * 512);
  CHECK(found.owner == expected.st_uid);
  CHECK(found.group == expected.st_gid);
  CHECK(static_cast<unsigned>(found.permissions) == (expected.st_mode & 07777));
  CHECK(ns(found.modified) == ns_of(expected.st_mtim));
  CHECK(ns(found.accessed) == ns_of(expected.st_atim));
  CHECK(ns(found.changed) == ns_of(expected.st_ctim));
}

TEST_CASE("filesystem: a file that is opened for a coroutine that is destroyed is closed") {
  system_files here;
  here.write_text(here / "a", "text");
  const int free_before = ::dup(0);
  ::close(free_before);
  {
    const auto open = [&]() -> coracle_test::test_coroutine {
      const auto opened = co_await fs::open_read_only(here.io, here / "a");
      FAIL("the coroutine was resumed");
    };
    auto opening = open();
    opening.resume();
    CHECK(!opening.done());
  }
  here.io.process_pending_events();
  // The io_service has made descriptors of its own.
  const int free_after = ::dup(0);
  ::close(free_after);
  CHECK(free_after <= free_before + 3);
  CHECK(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(free_after - 1)) != here / "a");
}

TEST_CASE("filesystem: an operation allocates nothing if its path does not" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  system_files here;
  std::size_t allocated = 0;
  const auto use = [&]() -> task<> {
    static_cast<void>(co_await fs::exists(here.io, "name"));
    const auto before = coracle::testing::allocations();
    static_cast<void>(co_await fs::exists(here.io, "name"));
    static_cast<void>(co_await fs::status(here.io, "."));
    allocated = coracle::testing::allocations() - before;
  };
  here.io.run(use());
  CHECK(allocated == 0);
}
TEST_CASE("filesystem: a write_atomically that fails leaves nothing behind") {
  system_files here;
  std::filesystem::create_directory(here / "d/in_the_way");
  const auto use = [&]() -> task<> {
    const std::string failure =
        co_await failure_of(fs::write_atomically(here.io, here / "d/in_the_way", "new"));
    CHECK(failure.starts_with("cannot rename .in_the_way."));
    CHECK(failure.ends_with(": Is a directory"));
    CHECK((co_await failure_of(fs::write_atomically(here.io, here / "no/a", "new")))
              .starts_with("cannot open"));
  };
  here.io.run(use());
  std::size_t left = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(here / "d")) ++left;
  CHECK(left == 1);
}

TEST_CASE("filesystem: read_file reads what has no size") {
  system_files here;
  std::string version;
  const auto use = [&]() -> task<> { version = co_await fs::read_file(here.io, "/proc/version"); };
  here.io.run(use());
  CHECK(version == here.text_of("/proc/version"));
}
}  // namespace
