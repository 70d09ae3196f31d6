// tests/unit/walk_directory_contract_test.cpp -- listing directories and walking trees of them, of the system
// and of a simulated host.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/walk_directory.hpp>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "../support/abort_message.hpp"
#include "files_under_test.hpp"

namespace {
namespace fs = coracle::filesystem;
using coracle::async_generator;
using coracle::directory_entry;
using coracle::task;
using coracle::walk_options;
using coracle_test::failure_of;
using coracle_test::files_under_test;
using names = std::set<std::string>;

/// Without entries, unless the constructor is told otherwise.
struct walked_folder : files_under_test {
  walked_folder() { make_folders(root); }
  void write(const std::string& name, const std::string& text) { write_text(root / name, text); }
  const std::filesystem::path root = *this / "root";
};
struct walked_files : walked_folder {
  walked_files() {
    make_folders(root / "a/b/c");
    write("file", "12345");
    write("a/one", "1");
    write("a/b/c/deep", std::string(10'000, 'x'));
    io.run(fs::create_symlink(io, "a", root / "link"));
    io.run(fs::create_symlink(io, "..", root / "a/up"));
  }
};

task<names> names_of(async_generator<const directory_entry> entries) {
  names found;
  while (const directory_entry* entry = co_await entries.next()) {
    const bool is_new = found.insert(entry->path).second;
    CHECK(is_new);
  }
  co_return found;
}

TEST_CASE("walk_directory: every entry below, and no link followed") {
  walked_files tree;
  const names found = tree.io.run(names_of(fs::walk_directory(tree.io, tree.root)));
  const names expected{"a", "a/b", "a/b/c", "a/b/c/deep", "a/one", "a/up", "file", "link"};
  CHECK(found == expected);
}

TEST_CASE(
    "walk_directory: entries have a status, a depth and a name; directories come before what they hold") {
  walked_files tree;
  std::map<std::string, directory_entry> found;
  names before;
  const auto walk = [&]() -> task<> {
    auto entries = fs::walk_directory(tree.io, tree.root);
    while (const directory_entry* entry = co_await entries.next()) {
      const std::size_t slash = entry->path.rfind('/');
      if (slash != std::string::npos) CHECK(before.contains(entry->path.substr(0, slash)));
      before.insert(entry->path);
      found.emplace(entry->path, *entry);
    }
  };
  tree.io.run(walk());
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
  walked_files tree;
  const names own{"a", "file", "link"};
  CHECK(tree.io.run(names_of(fs::list_directory(tree.io, tree.root))) == own);
  walk_options two;
  two.max_depth = 2;
  const names two_deep{"a", "a/b", "a/one", "a/up", "file", "link"};
  CHECK(tree.io.run(names_of(fs::walk_directory(tree.io, tree.root, two))) == two_deep);
  walk_options none;
  none.max_depth = 0;
  CHECK(tree.io.run(names_of(fs::walk_directory(tree.io, tree.root, none))).empty());
}

TEST_CASE("walk_directory: types without a status, if the status is not wanted") {
  walked_files tree;
  walk_options options;
  options.with_status = false;
  std::size_t count = 0;
  const auto walk = [&]() -> task<> {
    auto entries = fs::walk_directory(tree.io, tree.root, options);
    while (const directory_entry* entry = co_await entries.next()) {
      ++count;
      if (entry->path == "a/one") CHECK(entry->status.is_regular_file());
      if (entry->path == "a/b/c") CHECK(entry->status.is_directory());
      CHECK(entry->status.inode == 0);
    }
  };
  tree.io.run(walk());
  CHECK(count == 8);
}

TEST_CASE(
    "walk_directory: relative paths begin in the directory that is given; the directory may be a link") {
  walked_files tree;
  names found;
  const auto walk = [&]() -> task<> {
    const coracle::directory base = co_await fs::open_directory(tree.io, tree.root);
    found = co_await names_of(fs::walk_directory(base, "link"));
  };
  tree.io.run(walk());
  const names expected{"b", "b/c", "b/c/deep", "one", "up"};
  CHECK(found == expected);
}

TEST_CASE("walk_directory: more entries than a batch has, in more names than one call reads") {
  walked_folder tree;
  names expected;
  for (int i = 0; i != 1300; ++i) {
    const std::string name = std::string(100, 'n') + std::to_string(i);
    tree.write(name, "");
    expected.insert(name);
  }
  CHECK(tree.io.run(names_of(fs::walk_directory(tree.io, tree.root))) == expected);
}

TEST_CASE("walk_directory: directories that are removed or replaced by links meanwhile are not entered") {
  walked_folder tree;
  tree.make_folders(tree / "elsewhere");
  tree.write_text(tree / "elsewhere/secret", "");
  // More than a batch, so that some directories are opened after the first entry has been seen.
  for (int i = 0; i != 600; ++i) {
    tree.make_folders(tree.root / std::to_string(i));
    tree.write(std::to_string(i) + "/own", "");
  }
  names found;
  const auto replace_all = [&]() -> task<> {
    for (int i = 0; i != 600; ++i) {
      const std::filesystem::path folder = tree.root / std::to_string(i);
      co_await fs::remove(tree.io, folder / "own");
      co_await fs::remove_directory(tree.io, folder);
      if (i % 2 == 0) co_await fs::create_symlink(tree.io, tree / "elsewhere", folder);
    }
  };
  const auto walk = [&]() -> task<> {
    auto entries = fs::walk_directory(tree.io, tree.root);
    while (const directory_entry* entry = co_await entries.next()) {
      if (found.empty()) co_await replace_all();
      found.insert(entry->path);
    }
  };
  tree.io.run(walk());
  CHECK(found.size() >= 512);
  for (const std::string& path : found) CHECK(path.find('/') == std::string::npos);
}

TEST_CASE("walk_directory: errors name the path") {
  using namespace std::string_literals;
  walked_files tree;
  const std::string root = tree.root.native();
  const auto failure = [&](async_generator<const directory_entry> entries) {
    return tree.io.run(failure_of(names_of(std::move(entries))));
  };
  CHECK(failure(fs::walk_directory(tree.io, root + "/no")) ==
        "cannot list " + root + "/no: No such file or directory");
  CHECK(failure(fs::walk_directory(tree.io, root + "/file")) ==
        "cannot list " + root + "/file: Not a directory");
  CHECK(failure(fs::list_directory(tree.io, "")) == "cannot list \"\": No such file or directory");
  CHECK(failure(fs::list_directory(tree.io, root + "\0no"s)) == "cannot list " + root + ": Invalid argument");
}

namespace {
template <class Use>
std::string message_if_moved_from(Use) {
  return coracle_test::abort_message([] {
    coracle::io_service io;
    coracle::directory opened = io.run(fs::open_directory(io, "."));
    const coracle::directory moved_to = std::move(opened);
    io.run(Use{}(opened));  // NOLINT: what a moved-from one does
  });
}
}  // namespace

TEST_CASE("base_directory: a directory that was moved from ends the program and says so") {
  const auto walk = [](const coracle::directory& base) { return names_of(fs::walk_directory(base, ".")); };
  const auto link = [](const coracle::directory& base) { return fs::read_symlink(base, "x"); };
  const auto file = [](const coracle::directory& base) { return fs::status(base, "x"); };
  const char* const refused =
      "coracle: a path was to begin in a directory that was moved from: pass the directory that it was moved "
      "to\n";
  CHECK(message_if_moved_from(walk) == refused);
  CHECK(message_if_moved_from(link) == refused);
  CHECK(message_if_moved_from(file) == refused);
}

TEST_CASE("walk_directory: stopped before, nothing is read; stopped meanwhile, it ends after a batch") {
  walked_folder tree;
  for (int i = 0; i != 1500; ++i) tree.write(std::to_string(i), "");
  coracle::stop_source stop;
  std::size_t count = 0;
  const auto walk = [&]() -> task<std::string> {
    std::string end;
    auto entries = fs::walk_directory(tree.io, tree.root);
    try {
      while (co_await entries.next()) {
        if (++count == 1) stop.request_stop();
      }
    } catch (const coracle::operation_cancelled&) {
      end = "cancelled";
    }
    co_return end;
  };
  CHECK(tree.io.run(coracle::with_stop(walk(), stop.get_token())) == "cancelled");
  CHECK(count >= 1);
  CHECK(count <= 512);
  count = 0;
  CHECK(tree.io.run(coracle::with_stop(walk(), stop.get_token())) == "cancelled");
  CHECK(count == 0);
}
}  // namespace
