// tests/unit/walk_directory_test.cpp -- listing directories and walking trees of them.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/walk_directory.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <new>
#include <set>
#include <string>
#include <system_error>
#include <utility>

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

TEST_CASE("walk_directory: every entry below, and no link followed") {
  walked_tree tree;
  const names found = coracle::sync_wait(names_in(fs::walk_directory(tree.io, tree.folder.path())));
  const names expected{"a", "a/b", "a/b/c", "a/b/c/deep", "a/one", "a/up", "file", "link"};
  CHECK(found == expected);
}

TEST_CASE(
    "walk_directory: entries have a status, a depth and a name; directories come before what they hold") {
  walked_tree tree;
  std::map<std::string, directory_entry> found;
  names before;
  const auto walk = [&]() -> task<> {
    auto entries = fs::walk_directory(tree.io, tree.folder.path());
    while (const directory_entry* entry = co_await entries.next()) {
      const std::size_t slash = entry->path.rfind('/');
      if (slash != std::string::npos) CHECK(before.contains(entry->path.substr(0, slash)));
      before.insert(entry->path);
      found.emplace(entry->path, *entry);
    }
  };
  coracle::sync_wait(walk());
  CHECK(found["file"].status.is_regular_file());
  CHECK(found["file"].status.size == 5);
  CHECK(found["file"].depth == 1);
  CHECK(found["a/b/c/deep"].status.size == 10'000);
  CHECK(found["a/b/c/deep"].depth == 4);
  CHECK(found["a/b/c/deep"].name() == "deep");
  CHECK(found["file"].name() == "file");
  CHECK(found["a/b"].status.is_directory());
  CHECK(found["link"].status.is_symlink());
  CHECK(found["a/up"].status.is_symlink());
}

TEST_CASE("list_directory: its own entries only; the walk stops at the depth that is asked for") {
  walked_tree tree;
  const names own{"a", "file", "link"};
  CHECK(coracle::sync_wait(names_in(fs::list_directory(tree.io, tree.folder.path()))) == own);
  walk_options two;
  two.max_depth = 2;
  const names two_deep{"a", "a/b", "a/one", "a/up", "file", "link"};
  CHECK(coracle::sync_wait(names_in(fs::walk_directory(tree.io, tree.folder.path(), two))) == two_deep);
}

TEST_CASE("walk_directory: types without a status, if the status is not wanted") {
  walked_tree tree;
  walk_options options;
  options.with_status = false;
  std::size_t count = 0;
  const auto walk = [&]() -> task<> {
    auto entries = fs::walk_directory(tree.io, tree.folder.path(), options);
    while (const directory_entry* entry = co_await entries.next()) {
      ++count;
      if (entry->path == "a/one") CHECK(entry->status.is_regular_file());
      if (entry->path == "a/b/c") CHECK(entry->status.is_directory());
      CHECK(entry->status.inode == 0);
    }
  };
  coracle::sync_wait(walk());
  CHECK(count == 8);
}

TEST_CASE(
    "walk_directory: relative paths begin in the directory that is given; the directory may be a link") {
  walked_tree tree;
  names found;
  const auto walk = [&]() -> task<> {
    const coracle::directory base = co_await fs::open_directory(tree.io, tree.folder.path());
    found = co_await names_in(fs::walk_directory(base, "link"));
  };
  tree.io.run(walk());
  const names expected{"b", "b/c", "b/c/deep", "one", "up"};
  CHECK(found == expected);
}

TEST_CASE("walk_directory: more entries than a batch has, in more names than one call reads") {
  temporary_folder folder;
  coracle::io_service io;
  names expected;
  for (int i = 0; i != 1300; ++i) {
    const std::string name = std::string(100, 'n') + std::to_string(i);
    write_text(folder / name, "");
    expected.insert(name);
  }
  CHECK(coracle::sync_wait(names_in(fs::walk_directory(io, folder.path()))) == expected);
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

TEST_CASE("walk_directory: directories that are removed or replaced by links meanwhile are not entered") {
  temporary_folder folder, elsewhere;
  coracle::io_service io;
  write_text(elsewhere / "secret", "");
  // More than a batch, so that some directories are opened after the first entry has been seen.
  for (int i = 0; i != 600; ++i) {
    std::filesystem::create_directory(folder / std::to_string(i));
    write_text(folder / (std::to_string(i) + "/own"), "");
  }
  names found;
  const auto walk = [&]() -> task<> {
    auto entries = fs::walk_directory(io, folder.path());
    while (const directory_entry* entry = co_await entries.next()) {
      if (found.empty()) {
        for (int i = 0; i != 600; ++i) {
          std::filesystem::remove_all(folder / std::to_string(i));
          if (i % 2 == 0)
            std::filesystem::create_directory_symlink(elsewhere.path(), folder / std::to_string(i));
        }
      }
      found.insert(entry->path);
    }
  };
  coracle::sync_wait(walk());
  CHECK(found.size() >= 512);
  for (const std::string& path : found) CHECK(path.find('/') == std::string::npos);
}

TEST_CASE("walk_directory: errors name the path") {
  using namespace std::string_literals;
  walked_tree tree;
  const std::string root = tree.folder.path().native();
  CHECK(failure_of(fs::walk_directory(tree.io, root + "/no")) ==
        "cannot list " + root + "/no: No such file or directory");
  CHECK(failure_of(fs::walk_directory(tree.io, root + "/file")) ==
        "cannot list " + root + "/file: Not a directory");
  CHECK(failure_of(fs::list_directory(tree.io, "")) == "cannot list .: No such file or directory");
  CHECK(failure_of(fs::list_directory(tree.io, root + "\0no"s)) ==
        "cannot list " + root + ": Invalid argument");
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

TEST_CASE("walk_directory: stopped before, nothing is read; stopped meanwhile, it ends after a batch") {
  temporary_folder folder;
  coracle::io_service io;
  for (int i = 0; i != 1500; ++i) write_text(folder / std::to_string(i), "");
  coracle::stop_source stop;
  std::size_t count = 0;
  const auto walk = [&]() -> task<std::string> {
    std::string end;
    auto entries = fs::walk_directory(io, folder.path());
    try {
      while (co_await entries.next()) {
        if (++count == 1) stop.request_stop();
      }
    } catch (const coracle::operation_cancelled&) {
      end = "cancelled";
    }
    co_return end;
  };
  CHECK(coracle::sync_wait(coracle::with_stop(walk(), stop.get_token())) == "cancelled");
  CHECK(count >= 1);
  CHECK(count <= 512);
  count = 0;
  CHECK(coracle::sync_wait(coracle::with_stop(walk(), stop.get_token())) == "cancelled");
  CHECK(count == 0);
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
