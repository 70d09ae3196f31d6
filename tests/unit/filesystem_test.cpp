// tests/unit/filesystem_test.cpp -- operations on paths of the system: links, permissions, status, cost, what
// they leave. filesystem_contract_test.cpp has what holds for a simulated host too.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/io_engine.hpp>
#include <coracle/io/io_result.hpp>
#include <coracle/io/whole_file.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/time/timeout.hpp>
#include <cstdint>
#include <filesystem>
#include <new>
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
using namespace std::chrono_literals;

TEST_CASE("filesystem: the status is what stat(2) gives") {
  system_files here;
  here.write_text(here / "a", std::string(10'000, 'x'));
  struct ::stat expected{};
  REQUIRE(::stat((here / "a").c_str(), &expected) == 0);
  file_status found;
  const auto use = [&]() -> task<> { found = co_await fs::status(here.io, here / "a"); };
  here.io.run(use());
  const auto ns = [](file_status::time_point time) { return time.time_since_epoch().count(); };
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

TEST_CASE("filesystem: a stop request ends the wait for the other end of a FIFO, with io_uring") {
  system_files here;
  if (here.io.engine().name != "io_uring") return;  // epoll waits on a thread, which nothing interrupts
  REQUIRE(::mkfifo((here / "fifo").c_str(), 0600) == 0);
  const auto open_in_vain = [&]() -> task<> {
    auto open = fs::open_write_only(here.io, here / "fifo");
    const auto opened = co_await coracle::as_outcome(coracle::stop_after(std::move(open), 1ms));
    CHECK(opened.is_cancelled());
  };
  for (int i = 0; i != 20; ++i) here.io.run(open_in_vain());
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
TEST_CASE("filesystem: without memory for its path, a file that was opened is closed" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  system_files here;
  const std::filesystem::path path =
      here / std::string(100, 'a');  // longer than a std::string is without memory
  here.write_text(path, "text");
  const auto open = [&]() -> task<> { const auto opened = co_await fs::open_read_only(here.io, path); };
  const auto open_error = [&]() -> task<> {
    static_cast<void>(co_await coracle::as_io_result(fs::open_read_only(here.io, path)));
  };
  here.io.run(open());  // what is made once
  const int before = ::dup(0);
  ::close(before);
  const int failed = coracle::testing::fail_each_allocation([&] {
    try {
      here.io.run(open());
      here.io.run(open_error());
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(failed >= 8);
  const int after = ::dup(0);
  ::close(after);
  CHECK(after == before);
}

TEST_CASE("filesystem: read_file reads what has no size") {
  system_files here;
  std::string version;
  const auto use = [&]() -> task<> { version = co_await fs::read_file(here.io, "/proc/version"); };
  here.io.run(use());
  CHECK(version == here.text_of("/proc/version"));
}
}  // namespace
