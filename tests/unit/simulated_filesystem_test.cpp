// tests/unit/simulated_filesystem_test.cpp -- what is left of paths when a simulated host crashes.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/copy_file.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/walk_directory.hpp>
#include <coracle/io/whole_file.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/simulation/simulate.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <cstdint>
#include <set>
#include <string>

#include "files_under_test.hpp"

namespace {
namespace fs = coracle::filesystem;
using coracle::directory;
using coracle::io_service;
using coracle::task;
using coracle_test::failure_of;
using coracle_test::simulated_files;

/// Renames d/a to d/b, removes d/c, and loses power; `synced`: after a sync of the directory. What is left of
/// them then.
std::string left_after_crash(std::uint64_t seed, bool synced) {
  simulated_files here(seed);
  here.write_text("d/a", "new");
  here.write_text("d/b", "old");
  here.write_text("d/c", "gone");
  const auto use = [&]() -> task<> {
    const directory d = co_await fs::open_directory(here.io, "d");
    co_await fs::rename(d, "a", "b");
    co_await fs::remove(d, "c");
    if (synced) co_await d.sync();
  };
  here.io.run(use());
  here.host.crash();
  return here.text_of("d/a") + " " + here.text_of("d/b") + " " + here.text_of("d/c");
}

TEST_CASE(
    "simulated filesystem: a loss of power undoes the last name changes, unless the directory was synced") {
  std::set<std::string> synced, unsynced;
  for (std::uint64_t seed = 0; seed != 100; ++seed) {
    synced.insert(left_after_crash(seed, true));
    unsynced.insert(left_after_crash(seed, false));
  }
  CHECK(synced == std::set<std::string>{"none new none"});
  CHECK(unsynced == std::set<std::string>{"new old gone", "none new gone", "none new none"});
}
/// Loses power while a file is replaced by `work`. What the file has then.
template <class Work>
std::string left_of_replacement(std::uint64_t seed, Work work) {
  simulated_files here(seed);
  here.write_text("d/a", "old");
  const std::string text(2'000, 'x');  // several sectors
  const auto crash_at = here.sim.now() + std::chrono::microseconds{seed * 400};
  here.sim.at(crash_at, [&] { here.host.crash(); });
  bool done = false;
  const auto use = [&]() -> task<> {
    const std::string failure = co_await failure_of(work(here.io, text));
    done = failure.empty() && here.sim.now() < crash_at;
    while (here.sim.now() <= crash_at) co_await here.io.schedule_after(std::chrono::milliseconds{1});
  };
  here.io.run(use());
  const std::string left = here.text_of("d/a");
  return left == text ? "new" : left == "old" && !done ? "old" : "broken";
}

TEST_CASE(
    "simulated filesystem: write_atomically leaves the old contents or the new, whenever power is lost") {
  std::set<std::string> atomically, plainly;
  for (std::uint64_t seed = 0; seed != 200; ++seed) {
    atomically.insert(left_of_replacement(
        seed, [](io_service& io, const std::string& text) { return fs::write_atomically(io, "d/a", text); }));
    plainly.insert(left_of_replacement(
        seed, [](io_service& io, const std::string& text) { return fs::write_file(io, "d/a", text); }));
  }
  CHECK(atomically == std::set<std::string>{"new", "old"});
  CHECK(plainly.contains("broken"));
}
/// The names of the files in the directory d, in alphabetical order.
task<std::set<std::string>> names_in_d(io_service& io) {
  std::set<std::string> names;
  auto entries = fs::list_directory(io, "d");
  while (const auto* entry = co_await entries.next()) names.insert(entry->path);
  co_return names;
}

TEST_CASE("simulated filesystem: a write_atomically that loses a race leaves nothing else behind") {
  std::set<std::string> left;
  for (std::uint64_t seed = 0; seed != 100; ++seed) {
    simulated_files here(seed);
    here.write_text("d/a", "old");
    std::set<std::string> names;
    const auto race = [&]() -> task<> {
      co_await coracle::when_any(fs::write_atomically(here.io, "d/a", "new"),
                                 here.io.schedule_after(std::chrono::microseconds{seed * 400}));
      names = co_await names_in_d(here.io);
    };
    here.io.run(race());
    left.insert(here.text_of("d/a"));
    CHECK(names == std::set<std::string>{"a"});
  }
  CHECK(left == std::set<std::string>{"new", "old"});
}

/// Makes a directory with a file in it, syncs what `synced` says, and loses power. What is left of them.
enum class synced_parts : std::uint8_t { none, file, parent, both };
std::string left_of_new_directory(std::uint64_t seed, synced_parts synced) {
  simulated_files here(seed);
  const auto use = [&]() -> task<> {
    co_await fs::create_directory(here.io, "new");
    auto file = co_await fs::open_write_only(here.io, "new/a");
    co_await file.write_all(0, "text", 4);
    const directory root = co_await fs::open_directory(here.io, ".");
    if (synced == synced_parts::file || synced == synced_parts::both) co_await file.sync();
    if (synced == synced_parts::parent || synced == synced_parts::both) co_await root.sync();
  };
  here.io.run(use());
  here.host.crash();
  bool has_directory = false;
  const auto look = [&]() -> task<> { has_directory = co_await fs::exists(here.io, "new"); };
  here.io.run(look());
  return has_directory ? here.text_of("new/a") : "no directory";
}

TEST_CASE("simulated filesystem: a new directory survives with its files once both have been synced") {
  using results = std::set<std::string>;
  results left[4];
  for (std::uint64_t seed = 0; seed != 100; ++seed) {
    for (const auto each : {synced_parts::none, synced_parts::file, synced_parts::parent, synced_parts::both})
      left[static_cast<int>(each)].insert(left_of_new_directory(seed, each));
  }
  CHECK(left[0] == results{"", "no directory", "none", "text"});
  CHECK(left[1] == results{"no directory", "text"});
  CHECK(left[2] == results{"", "none", "text"});
  CHECK(left[3] == results{"text"});
}

TEST_CASE("simulated filesystem: a rename between directories is undone as a whole, unless both are synced") {
  std::set<std::string> left[2];
  for (std::uint64_t seed = 0; seed != 200; ++seed) {
    simulated_files here(seed);
    here.write_text("d/a", "a");
    here.write_text("e/b", "b");
    const bool both = seed % 2 == 1;
    const auto use = [&]() -> task<> {
      const directory d = co_await fs::open_directory(here.io, "d");
      const directory e = co_await fs::open_directory(here.io, "e");
      co_await fs::rename(here.io, "d/a", "e/b");
      co_await e.sync();
      if (both) co_await d.sync();
    };
    here.io.run(use());
    here.host.crash();
    left[both ? 1 : 0].insert(here.text_of("d/a") + " " + here.text_of("e/b"));
  }
  CHECK(left[0] == std::set<std::string>{"a b", "none a"});
  CHECK(left[1] == std::set<std::string>{"none a"});
}

TEST_CASE("simulated filesystem: a directory is listed in an order that depends on the seed") {
  std::set<std::string> orders;
  const auto order = [](std::uint64_t seed) {
    simulated_files here(seed);
    for (const char* name : {"d/a", "d/b", "d/c"}) here.write_text(name, "");
    std::string names;
    const auto use = [&]() -> task<> {
      auto entries = fs::list_directory(here.io, "d");
      while (const auto* entry = co_await entries.next()) names += entry->path;
    };
    here.io.run(use());
    return names;
  };
  for (std::uint64_t seed = 0; seed != 100; ++seed) {
    orders.insert(order(seed));
    CHECK(order(seed) == order(seed));
  }
  CHECK(orders.size() == 6);
}

TEST_CASE("simulated filesystem: what the kernel copies by itself takes none of the program's memory" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const auto copy = [](coracle::testing::simulation& sim) {
    coracle::testing::simulated_network network{sim};
    coracle::testing::simulated_host host{network, "10.0.0.1"};
    host.disk().put("/from", "text");
    sim.run(fs::copy_file(host.io(), "/from", host.io(), "/to"));
    sim.expect(host.disk().contents("/to") == "text", "the copy is whole");
  };
  for (std::uint64_t seed = 1; seed != 5; ++seed) {  // by chance a system cannot copy
    CHECK(coracle::testing::for_every_fault(seed, copy).allocations >= 3);
  }
}
}  // namespace
