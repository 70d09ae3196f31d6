// tests/unit/file_watcher_test.cpp -- changes of files and directories, and events that are lost.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/file_watcher.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/testing/allocations.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "../support/temporary_folder.hpp"

namespace {
using coracle::file_change;
using coracle::file_event;
using coracle::file_watch;
using coracle::file_watcher;
using coracle::task;
using coracle_test::write_text;

struct watched_folder {
  coracle_test::temporary_folder folder;
  coracle::io_service io;
  file_watcher watcher{io};
};

TEST_CASE("file_watcher: what happens in a directory, in order, with names") {
  watched_folder here;
  const file_watch watch = here.watcher.add(here.folder.path());
  write_text(here.folder / "a", "text");
  std::filesystem::rename(here.folder / "a", here.folder / "b");
  std::filesystem::create_directory(here.folder / "d");
  std::filesystem::remove(here.folder / "b");
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
  watched_folder here;
  write_text(here.folder / "a", "");
  const file_watch watch = here.watcher.add(here.folder / "a", file_change::closed_after_write);
  const auto change = [&]() -> task<> {
    write_text(here.folder / "a", "more");
    co_return;
  };
  const auto both = here.io.run(coracle::when_all(here.watcher.next(), change()));
  const file_event& event = std::get<0>(both);
  CHECK(event.watch == watch);
  CHECK(event.is(file_change::closed_after_write));
  CHECK(event.name.empty());
}

TEST_CASE("file_watcher: only the changes that are asked for; asking again replaces them") {
  watched_folder here;
  write_text(here.folder / "a", "");
  const file_watch watch = here.watcher.add(here.folder / "a", file_change::attributes);
  write_text(here.folder / "a", "more");
  std::filesystem::permissions(here.folder / "a", std::filesystem::perms::owner_all);
  std::filesystem::create_hard_link(here.folder / "a", here.folder / "b");
  CHECK(here.watcher.add(here.folder / "b", file_change::closed_after_write) == watch);
  write_text(here.folder / "a", "most");
  const auto check = [&]() -> task<> {
    file_event event = co_await here.watcher.next();
    while (event.is(file_change::attributes)) event = co_await here.watcher.next();
    CHECK(event.what == file_change::closed_after_write);
  };
  here.io.run(check());
}

TEST_CASE("file_watcher: a watch ends when it is removed, and with its file") {
  watched_folder here;
  write_text(here.folder / "a", "");
  write_text(here.folder / "b", "");
  const file_watch a = here.watcher.add(here.folder / "a", file_change::self_removed);
  const file_watch b = here.watcher.add(here.folder / "b", file_change::self_removed);
  CHECK(a != b);
  here.watcher.remove(a);
  here.watcher.remove(a);
  std::filesystem::remove(here.folder / "b");
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

TEST_CASE("file_watcher: lost events are reported as an overflow") {
  watched_folder here;
  std::size_t most = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> most;
  if (most == 0 || most > 100'000) return;
  const file_watch a = here.watcher.add(here.folder.path(), file_change::attributes);
  write_text(here.folder / "a", "");
  write_text(here.folder / "b", "");
  // Equal events in a row are one, so two files take turns.
  for (std::size_t i = 0; i != most / 2 + 10; ++i) {
    for (const char* name : {"a", "b"})
      std::filesystem::permissions(here.folder / name, std::filesystem::perms::owner_all);
  }
  std::size_t kept = 0;
  const auto check = [&]() -> task<> {
    file_event event = co_await here.watcher.next();
    for (; !event.is(file_change::overflow); ++kept) {
      CHECK(event.watch == a);
      event = co_await here.watcher.next();
    }
    CHECK(event.watch == file_watch::none);
    write_text(here.folder / "c", "");
    std::filesystem::permissions(here.folder / "c", std::filesystem::perms::owner_all);
    event = co_await here.watcher.next();
    CHECK(event.name == "c");
  };
  here.io.run(check());
  CHECK(kept == most);
}

TEST_CASE("file_watcher: a stop request ends the wait, and loses no event") {
  watched_folder here;
  here.watcher.add(here.folder.path(), file_change::created);
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
  write_text(here.folder / "a", "");
  const file_event event = here.io.run(here.watcher.next());
  CHECK(event.name == "a");
}

TEST_CASE("file_watcher: its events as a generator") {
  watched_folder here;
  here.watcher.add(here.folder.path(), file_change::created);
  write_text(here.folder / "a", "");
  write_text(here.folder / "b", "");
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
  watched_folder here;
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
  write_text(here.folder / "a", "");
  const std::string below = (here.folder / "a/b").native();
  CHECK(failure(below) == "cannot watch " + below + ": Not a directory");
}
TEST_CASE("file_watcher: an allocation that fails is reported, and leaves no descriptor open" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, {});
  };
  coracle::io_service io;
  const file_watcher first{io};  // the io_service has its descriptors now, and no record to spare
  const auto before = open_descriptors();
  std::size_t failures = 0;
  for (bool failed = true; failed;) {
    failed = false;
    const coracle::testing::failing_allocation failing{failures + 1};
    try {
      const file_watcher second{io};
    } catch (const std::bad_alloc&) {
      failed = true;
      ++failures;
    }
  }
  CHECK(failures != 0);
  CHECK(open_descriptors() == before);
}
}  // namespace
