// tests/unit/file_watcher_contract_test.cpp -- changes of files and directories, of the system and of a
// simulated host.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/file_watcher.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/whole_file.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "files_under_test.hpp"

namespace {
namespace fs = coracle::filesystem;
using coracle::file_change;
using coracle::file_event;
using coracle::file_watch;
using coracle::file_watcher;
using coracle::task;

/// The watcher of a folder, whose files are changed by operations of the same io_service.
struct watched_files : coracle_test::files_under_test {
  watched_files() { make_folders(folder); }
  void write(const char* name, const char* text) { io.run(fs::write_file(io, folder / name, text)); }
  const std::filesystem::path folder = *this / "w";
  file_watcher watcher{io};
};

TEST_CASE("file_watcher: what happens in a directory, in order, with names") {
  watched_files here;
  const file_watch watch = here.watcher.add(here.folder);
  here.write("a", "text");
  here.io.run(fs::rename(here.io, here.folder / "a", here.folder / "b"));
  here.io.run(fs::create_directory(here.io, here.folder / "d"));
  here.io.run(fs::remove(here.io, here.folder / "b"));
  struct expected_event {
    file_change what;
    const char* name;
  };
  const std::vector<expected_event> expected{
      {file_change::created, "a"},    {file_change::modified, "a"}, {file_change::closed_after_write, "a"},
      {file_change::moved_from, "a"}, {file_change::moved_to, "b"}, {file_change::created, "d"},
      {file_change::removed, "b"}};
  const auto check = [&]() -> task<> {
    std::uint32_t rename = 0;
    for (const expected_event& each : expected) {
      const file_event event = co_await here.watcher.next();
      CHECK(event.watch == watch);
      CHECK(event.what == each.what);
      CHECK(event.name == each.name);
      CHECK(event.is_directory == (event.name == "d"));
      if (event.what == file_change::moved_from) rename = event.rename_id;
      if (event.what == file_change::moved_to) CHECK(event.rename_id == rename);
    }
    CHECK(rename != 0);
  };
  here.io.run(check());
}

TEST_CASE("file_watcher: a waiting coroutine is woken by a change") {
  watched_files here;
  here.write("a", "");
  const file_watch watch = here.watcher.add(here.folder / "a", file_change::closed_after_write);
  const auto change = [&]() -> task<> { co_await fs::write_file(here.io, here.folder / "a", "more"); };
  const auto both = here.io.run(coracle::when_all(here.watcher.next(), change()));
  const file_event& event = std::get<0>(both);
  CHECK(event.watch == watch);
  CHECK(event.is(file_change::closed_after_write));
  CHECK(event.name.empty());
}

TEST_CASE("file_watcher: only the changes that are asked for; asking again replaces them") {
  watched_files here;
  here.write("a", "");
  const file_watch watch = here.watcher.add(here.folder / "a", file_change::attributes);
  here.write("a", "more");
  here.io.run(fs::create_hard_link(here.io, here.folder / "a", here.folder / "b"));
  CHECK(here.watcher.add(here.folder / "b", file_change::closed_after_write) == watch);
  here.write("a", "most");
  const auto check = [&]() -> task<> {
    file_event event = co_await here.watcher.next();
    while (event.is(file_change::attributes)) event = co_await here.watcher.next();
    CHECK(event.what == file_change::closed_after_write);
  };
  here.io.run(check());
}

TEST_CASE("file_watcher: a watch ends when it is removed, and with its file") {
  watched_files here;
  here.write("a", "");
  here.write("b", "");
  const file_watch a = here.watcher.add(here.folder / "a", file_change::self_removed);
  const file_watch b = here.watcher.add(here.folder / "b", file_change::self_removed);
  CHECK(a != b);
  here.watcher.remove(a);
  here.watcher.remove(a);
  here.io.run(fs::remove(here.io, here.folder / "b"));
  const auto check = [&]() -> task<> {
    file_event event = co_await here.watcher.next();
    CHECK(event.watch == a);
    CHECK(event.what == file_change::watch_ended);
    event = co_await here.watcher.next();
    CHECK(event.watch == b);
    CHECK(event.what == file_change::self_removed);
    event = co_await here.watcher.next();
    CHECK(event.watch == b);
    CHECK(event.what == file_change::watch_ended);
  };
  here.io.run(check());
}

TEST_CASE("file_watcher: a stop request ends the wait, and loses no event") {
  watched_files here;
  here.watcher.add(here.folder, file_change::created);
  coracle::stop_source stop;
  bool cancelled = false;
  const auto wait = [&]() -> task<> {
    try {
      co_await here.watcher.next();
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  const auto request = [&]() -> task<> {
    stop.request_stop();
    co_return;
  };
  here.io.run(coracle::when_all(coracle::with_stop(wait(), stop.get_token()), request()));
  CHECK(cancelled);
  here.write("a", "");
  const file_event event = here.io.run(here.watcher.next());
  CHECK(event.name == "a");
}

TEST_CASE("file_watcher: its events as a generator") {
  watched_files here;
  here.watcher.add(here.folder, file_change::created);
  here.write("a", "");
  here.write("b", "");
  std::string names;
  const auto collect = [&]() -> task<> {
    auto events = here.watcher.events();
    while (names.size() != 2) {
      const file_event* event = co_await events.next();
      names += event->name;
    }
  };
  here.io.run(collect());
  CHECK(names == "ab");
}

TEST_CASE("file_watcher: errors name the path") {
  using namespace std::string_literals;
  watched_files here;
  const auto failure = [&](const std::string& path) -> std::string {
    try {
      here.watcher.add(path);
    } catch (const std::system_error& error) {
      return error.what();
    }
    return {};
  };
  const std::string missing = (here.folder / "no").native();
  CHECK(failure(missing) == "cannot watch " + missing + ": No such file or directory");
  CHECK(failure("/\0no"s) == "cannot watch /: Invalid argument");
  CHECK(failure("") == "cannot watch \"\": No such file or directory");
  here.write("a", "");
  const std::string below = (here.folder / "a/b").native();
  CHECK(failure(below) == "cannot watch " + below + ": Not a directory");
}
}  // namespace
