// tests/unit/walk_directory_test.cpp -- walking trees of directories of the system: permissions, other file
// systems, descriptors. walk_directory_contract_test.cpp has what holds for a simulated host too.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/walk_directory.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <new>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "../../src/io/directory_walk.hpp"
#include "../support/temporary_folder.hpp"

namespace {
namespace fs = coracle::filesystem;
using coracle::async_generator;
using coracle::directory_entry;
using coracle::task;
using coracle::walk_options;
using coracle_test::temporary_folder;
using coracle_test::write_text;
using names = std::set<std::string>;

struct walked_tree {
  walked_tree() {
    std::filesystem::create_directories(folder / "a/b/c");
    write_text(folder / "file", "12345");
    write_text(folder / "a/one", "1");
    write_text(folder / "a/b/c/deep", std::string(10'000, 'x'));
    std::filesystem::create_symlink("a", folder / "link");
    std::filesystem::create_symlink("..", folder / "a/up");
  }
  temporary_folder folder;
  coracle::io_service io;
};

task<names> names_in(async_generator<const directory_entry> entries) {
  names found;
  while (const directory_entry* entry = co_await entries.next()) {
    const bool is_new = found.insert(entry->path).second;
    CHECK(is_new);
  }
  co_return found;
}
std::string failure_of(async_generator<const directory_entry> entries) {
  try {
    coracle::sync_wait(names_in(std::move(entries)));
  } catch (const std::system_error& error) {
    return error.what();
  } catch (const coracle::operation_cancelled&) {
    return "cancelled";
  }
  return {};
}

TEST_CASE("walk_directory: two descriptors, however deep the tree is") {
  temporary_folder folder;
  coracle::io_service io;
  std::filesystem::path deep = folder.path();
  for (int i = 0; i != 300; ++i) deep /= "d";
  std::filesystem::create_directories(deep);
  const auto walk = [&]() -> task<> {
    const int before = ::dup(0);
    ::close(before);
    auto entries = fs::walk_directory(io, folder.path());
    std::size_t depth = 0;
    while (const directory_entry* entry = co_await entries.next()) {
      depth = entry->depth;
      if (depth != 300) continue;
      const int after = ::dup(0);
      ::close(after);
      CHECK(after <= before + 2);
    }
    CHECK(depth == 300);
  };
  coracle::sync_wait(walk());
}

TEST_CASE("walk_directory: a failure comes after the entries that were found before it") {
  temporary_folder folder;
  coracle::io_service io;
  // Deeper than the longest path that the system takes.
  const std::string name(250, 'd');
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  for (int i = 0; i != 20; ++i) {
    std::filesystem::create_directory(name);
    std::filesystem::current_path(name);
  }
  std::filesystem::current_path(before);
  std::size_t count = 0;
  std::string failure;
  const auto walk = [&]() -> task<> {
    auto entries = fs::walk_directory(io, folder.path());
    try {
      while (co_await entries.next()) ++count;
    } catch (const std::system_error& error) {
      if (error.code() == std::errc::filename_too_long) failure = error.what();
    }
  };
  coracle::sync_wait(walk());
  CHECK(count == 17);
  CHECK(failure.starts_with("cannot list "));
}

/// Takes root's privileges from the process meanwhile; without them, it has nothing to take.
class without_privileges {
 public:
  without_privileges() {
    constexpr ::uid_t nobody = 65534;
    if (before_ == 0) REQUIRE(::seteuid(nobody) == 0);
  }
  without_privileges(const without_privileges&) = delete;
  without_privileges& operator=(const without_privileges&) = delete;
  ~without_privileges() { CHECK(::seteuid(before_) == 0); }

 private:
  const ::uid_t before_ = ::geteuid();
};

TEST_CASE("walk_directory: a directory that may not be read is an error, or taken for an empty one") {
  using std::filesystem::perms;
  walked_tree tree;
  std::filesystem::permissions(tree.folder.path(), static_cast<perms>(0755));
  std::filesystem::permissions(tree.folder / "a", perms::none);
  walk_options options;
  options.skip_permission_denied = true;
  {
    const without_privileges meanwhile;
    CHECK(failure_of(fs::walk_directory(tree.io, tree.folder.path())).ends_with("/a: Permission denied"));
    const names expected{"a", "file", "link"};
    CHECK(coracle::sync_wait(names_in(fs::walk_directory(tree.io, tree.folder.path(), options))) == expected);
  }
  std::filesystem::permissions(tree.folder / "a", perms::owner_all);
}

// That of map_files is such a directory, for most processes.
TEST_CASE("walk_directory: a directory that is opened and cannot be read is taken for an empty one, too") {
  coracle::io_service io;
  walk_options options;
  options.skip_permission_denied = true;
  options.max_depth = 2;
  CHECK(coracle::sync_wait(names_in(fs::walk_directory(io, "/proc/1", options))).contains("map_files"));
  options.skip_permission_denied = false;
  CHECK(!failure_of(fs::walk_directory(io, "/proc/1", options)).ends_with("/: Permission denied"));
}

TEST_CASE("walk_directory: a directory that may be read but not searched has names and nothing else") {
  using std::filesystem::perms;
  walked_tree tree;
  std::filesystem::permissions(tree.folder.path(), static_cast<perms>(0755));
  std::filesystem::permissions(tree.folder / "a", static_cast<perms>(0444));
  walk_options options;
  options.skip_permission_denied = true;
  const auto list = [&]() -> task<> {
    std::size_t count = 0;
    auto entries = fs::list_directory(tree.io, tree.folder / "a", options);
    while (const directory_entry* entry = co_await entries.next()) {
      ++count;
      CHECK(entry->status.permissions == perms::unknown);
      CHECK(entry->status.is_directory() == (entry->path == "b"));
    }
    CHECK(count == 3);
  };
  {
    const without_privileges meanwhile;
    const std::string failure = failure_of(fs::list_directory(tree.io, tree.folder / "a"));
    CHECK(failure.ends_with(": Permission denied"));
    coracle::sync_wait(list());
  }
  std::filesystem::permissions(tree.folder / "a", perms::owner_all);
}

TEST_CASE("walk_directory: other file systems are left out if asked") {
  coracle::io_service io;
  walk_options options;
  options.with_status = false;
  options.same_file_system = true;
  options.skip_permission_denied = true;
  options.max_depth = 2;
  const names found = coracle::sync_wait(names_in(fs::walk_directory(io, "/", options)));
  CHECK(found.contains("proc"));
  CHECK(!found.contains("proc/self"));
  CHECK(found.contains("usr/bin"));
}

/// The open descriptors of the process.
std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, {});
}

TEST_CASE("walk_directory: an allocation that fails is reported, and leaves no descriptor open" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  walked_tree here;
  const std::ptrdiff_t before = open_descriptors();
  std::size_t failures = 0, entries = 0;
  for (bool failed = true; failed;) {
    failed = false;
    entries = 0;
    const coracle::testing::failing_allocation failing{failures + 1};
    try {
      coracle::detail::directory_walk walk{here.io, here.folder.path(), {}};  // without its thread
      while (!walk.has_ended()) entries += walk.next_batch({}).size();
    } catch (const std::bad_alloc&) {
      failed = true;
      ++failures;
    }
  }
  CHECK(failures > 5);
  CHECK(entries == 8);
  CHECK(open_descriptors() == before);
}
}  // namespace
