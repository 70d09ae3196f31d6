// tests/unit/filesystem_contract.hpp -- what holds for paths, of the system as of a simulated host.
// Whoever includes it has defined CORACLE_FILESYSTEM_TEST and service_under_test, as for file_contract.hpp.
// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>

#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/whole_file.hpp>
#include <string>
#include <system_error>
#include <utility>

namespace {
namespace fs = coracle::filesystem;
using coracle::directory;
using coracle::file_open_mode;
using coracle::file_status;
using coracle::io_service;
using coracle::task;

/// What the error says that `work` ends with; empty if it succeeds.
template <class Awaitable>
task<std::string> failure_of(Awaitable work) {
  std::string text;
  try {
    static_cast<void>(co_await std::move(work));
  } catch (const std::system_error& error) {
    text = error.what();
  } catch (const coracle::operation_cancelled&) {
    text = "cancelled";
  }
  co_return text;
}
template <class Path>
std::string text(const Path& path) {
  return std::filesystem::path(path).native();
}

TEST_CASE(CORACLE_FILESYSTEM_TEST ": rename moves a file and replaces another") {
  service_under_test here;
  here.write_text(here / "a", "new");
  here.write_text(here / "b", "old");
  const auto use = [&]() -> task<> {
    co_await fs::rename(here.io, here / "a", here / "b");
    CHECK(!co_await fs::exists(here.io, here / "a"));
    CHECK(co_await fs::exists(here.io, here / "b"));
  };
  here.io.run(use());
  CHECK(here.text_of(here / "b") == "new");
}

TEST_CASE(CORACLE_FILESYSTEM_TEST ": the status of a file and of a directory; remove") {
  service_under_test here;
  here.write_text(here / "d/a", "12345");
  const auto use = [&]() -> task<> {
    const file_status file = co_await fs::status(here.io, here / "d/a");
    CHECK(file.is_regular_file());
    CHECK(file.size == 5);
    CHECK(file.links == 1);
    const file_status folder = co_await fs::symlink_status(here.io, here / "d");
    CHECK(folder.is_directory());
    co_await fs::remove(here.io, here / "d/a");
    CHECK(!co_await fs::exists(here.io, here / "d/a"));
  };
  here.io.run(use());
}

TEST_CASE(CORACLE_FILESYSTEM_TEST ": files are opened, created and read without blocking") {
  service_under_test here;
  here.write_text(here / "a", "text");
  const auto use = [&]() -> task<> {
    std::string seen(8, ' ');
    const coracle::read_only_file in = co_await fs::open_read_only(here.io, here / "a");
    const std::size_t got = co_await in.read(0, seen.data(), seen.size());
    CHECK(seen.substr(0, got) == "text");
    coracle::write_only_file out =
        co_await fs::open_write_only(here.io, here / "b", file_open_mode::create_new);
    co_await out.write_all(0, "more", 4);
    const coracle::read_write_file both = co_await fs::open_read_write(here.io, here / "b");
    CHECK(both.size() == 4);
    coracle::write_only_file log = co_await fs::open_write_only(here.io, here / "b", file_open_mode::append);
    co_await log.write_all(0, "!", 1);
    co_await log.write_all(0, "?", 1);
    co_await fs::resize_file(here.io, here / "a", 2);
  };
  here.io.run(use());
  CHECK(here.text_of(here / "a") == "te");
  CHECK(here.text_of(here / "b") == "more!?");
}

TEST_CASE(CORACLE_FILESYSTEM_TEST ": relative paths begin in the directory that is given") {
  service_under_test here;
  here.write_text(here / "d/a", "text");
  const auto use = [&]() -> task<> {
    directory in_d = co_await fs::open_directory(here.io, here / "d");
    const directory moved = std::move(in_d);
    CHECK(text(moved.path()) == text(here / "d"));
    co_await fs::rename(moved, "a", "b");
    CHECK(co_await fs::exists(moved, "b"));
    const coracle::read_only_file in = co_await fs::open_read_only(moved, "b");
    CHECK(in.size() == 4);
    co_await moved.sync();
  };
  here.io.run(use());
  CHECK(here.text_of(here / "d/b") == "text");
}

TEST_CASE(CORACLE_FILESYSTEM_TEST ": an error says what failed, and for which paths") {
  service_under_test here;
  const std::string a = text(here / "a"), b = text(here / "b");
  const auto use = [&]() -> task<> {
    const std::string missing = ": No such file or directory";
    CHECK(co_await failure_of(fs::rename(here.io, a, b)) == "cannot rename " + a + " to " + b + missing);
    CHECK(co_await failure_of(fs::status(here.io, a)) == "cannot ask for the status of " + a + missing);
    CHECK(co_await failure_of(fs::remove(here.io, a)) == "cannot remove " + a + missing);
    CHECK(co_await failure_of(fs::open_read_only(here.io, a)) == "cannot open " + a + missing);
    CHECK(co_await failure_of(fs::rename(here.io, a, "")) == "cannot rename " + a + " to " + missing);
    here.write_text(a, "text");
    CHECK(co_await failure_of(fs::open_write_only(here.io, a, file_open_mode::create_new)) ==
          "cannot open " + a + ": File exists");
    CHECK(co_await failure_of(fs::open_directory(here.io, a)) == "cannot open " + a + ": Not a directory");
  };
  here.io.run(use());
}

TEST_CASE(CORACLE_FILESYSTEM_TEST ": a path with a NUL in it names no file") {
  using namespace std::string_literals;
  service_under_test here;
  here.write_text(here / "a", "text");
  const auto use = [&]() -> task<> {
    const std::string path = text(here / "a") + "\0b"s;
    const std::string failure = co_await failure_of(fs::remove(here.io, path));
    CHECK(failure == "cannot remove " + text(here / "a") + ", a path with a NUL in it: Invalid argument");
    CHECK((co_await failure_of(fs::rename(here.io, here / "a", path))).ends_with("Invalid argument"));
    CHECK(co_await fs::exists(here.io, here / "a"));
  };
  here.io.run(use());
}

TEST_CASE(CORACLE_FILESYSTEM_TEST ": stopped before, nothing is done") {
  service_under_test here;
  here.write_text(here / "a", "text");
  coracle::stop_source stop;
  stop.request_stop();
  const auto use = [&]() -> task<> {
    CHECK(co_await failure_of(fs::remove(here.io, here / "a", stop.get_token())) == "cancelled");
    CHECK(co_await failure_of(fs::exists(here.io, here / "a", stop.get_token())) == "cancelled");
    CHECK(co_await failure_of(fs::open_read_only(here.io, here / "a", {}, stop.get_token())) == "cancelled");
  };
  here.io.run(use());
  CHECK(here.text_of(here / "a") == "text");
}
TEST_CASE(CORACLE_FILESYSTEM_TEST ": a whole file is written, appended to and read back") {
  service_under_test here;
  std::string long_text(100'000, ' ');
  for (std::size_t i = 0; i != long_text.size(); ++i) long_text[i] = static_cast<char>(i * i / 7 + i);
  const auto use = [&]() -> task<> {
    co_await fs::write_file(here.io, here / "a", long_text);
    std::string read = co_await fs::read_file(here.io, here / "a");
    CHECK(read == long_text);
    co_await fs::append_to_file(here.io, here / "a", "end");
    read = co_await fs::read_file(here.io, here / "a");
    CHECK(read == long_text + "end");
    co_await fs::write_file(here.io, here / "a", "");
    read = co_await fs::read_file(here.io, here / "a");
    CHECK(read.empty());
    co_await fs::append_to_file(here.io, here / "b", "made");
    CHECK(!(co_await failure_of(fs::read_file(here.io, here / "c"))).empty());
  };
  here.io.run(use());
  CHECK(here.text_of(here / "b") == "made");
}

TEST_CASE(CORACLE_FILESYSTEM_TEST ": write_atomically replaces a file, or creates it") {
  service_under_test here;
  here.write_text(here / "d/a", "a longer old text");
  const auto use = [&]() -> task<> {
    co_await fs::write_atomically(here.io, here / "d/a", "new");
    const directory d = co_await fs::open_directory(here.io, here / "d");
    co_await fs::write_atomically(d, "b", "made");
  };
  here.io.run(use());
  CHECK(here.text_of(here / "d/a") == "new");
  CHECK(here.text_of(here / "d/b") == "made");
}

TEST_CASE(CORACLE_FILESYSTEM_TEST ": a write_atomically that is stopped changes nothing") {
  service_under_test here;
  here.write_text(here / "d/a", "old");
  coracle::stop_source stop;
  stop.request_stop();
  const auto use = [&]() -> task<> {
    CHECK(co_await failure_of(coracle::with_stop(fs::write_atomically(here.io, here / "d/a", "new"),
                                                 stop.get_token())) == "cancelled");
  };
  here.io.run(use());
  CHECK(here.text_of(here / "d/a") == "old");
}
}  // namespace
