// tests/unit/filesystem_test.cpp -- operations on paths: what they do, what they leave, errors, cancellation.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coracle/core/with_environment.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/testing/allocations.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "../support/temporary_folder.hpp"
#include "../support/test_coroutine.hpp"

namespace {
struct service_under_test {
  service_under_test() { std::filesystem::create_directory(folder / "d"); }
  std::filesystem::path operator/(const char* name) const { return folder / name; }
  static std::string text_of(const std::filesystem::path& path) { return coracle_test::text_of(path); }
  static void write_text(const std::filesystem::path& path, std::string_view text) {
    coracle_test::write_text(path, text);
  }
  coracle_test::temporary_folder folder;
  coracle::io_service io;
};
}  // namespace

#define CORACLE_FILESYSTEM_TEST "filesystem"
#include "filesystem_contract.hpp"

namespace {
TEST_CASE("filesystem: links of both kinds, and where they lead") {
  service_under_test here;
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
    const std::string a = text(here / "a");
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
  service_under_test here;
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
    const std::string name = text(here / "new");
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
  service_under_test here;
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
  service_under_test here;
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
  service_under_test here;
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
  service_under_test here;
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
  service_under_test here;
  std::string version;
  const auto use = [&]() -> task<> { version = co_await fs::read_file(here.io, "/proc/version"); };
  here.io.run(use());
  CHECK(version == here.text_of("/proc/version"));
}
}  // namespace
