// tests/unit/file_watcher_test.cpp -- events that are lost, and descriptors that are not.
// file_watcher_contract_test.cpp has what holds for a simulated host too.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/io/file_watcher.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/poll.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>

#include "../support/abort_message.hpp"
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

TEST_CASE("file_watcher: two coroutines that await it at the same time end the program, which says so") {
  CHECK(coracle_test::abort_message([] {
          watched_folder here;
          auto waits = coracle::testing::poll(here.watcher.next());
          auto overlaps = coracle::testing::poll(here.watcher.next());
        }) ==
        "coracle: two coroutines await the next event of a file_watcher: let one of them await all events\n");
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
