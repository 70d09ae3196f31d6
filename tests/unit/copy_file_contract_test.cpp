// tests/unit/copy_file_contract_test.cpp -- copying a file: contents, permissions, errors, cancellation, of
// the system and of a simulated host.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/copy_file.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/whole_file.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "files_under_test.hpp"

namespace {
namespace fs = coracle::filesystem;
using coracle::file_open_mode;
using coracle::task;
using coracle_test::failure_of;
using coracle_test::patterned;

struct copied_files : coracle_test::files_under_test {
  std::filesystem::path from = *this / "from", to = *this / "to";

  std::uint64_t copy(file_open_mode mode = file_open_mode::create_new) {
    return io.run(fs::copy_file(io, from, io, to, mode));
  }
  std::string failure(file_open_mode mode = file_open_mode::create_new) {
    return io.run(failure_of(fs::copy_file(io, from, io, to, mode)));
  }
};
TEST_CASE("copy_file: the copy has the contents and the permissions") {
  copied_files files;
  const ::mode_t umask = ::umask(0022);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{1'000'003}}) {
    const std::string text = patterned(size);
    constexpr auto permissions = static_cast<std::filesystem::perms>(0750);
    const auto make = [&]() -> task<> {
      auto file =
          co_await fs::open_write_only(files.io, files.from, file_open_mode::create_new, {}, permissions);
      co_await file.write_all(0, text.data(), text.size());
    };
    files.io.run(make());
    CHECK(files.copy() == size);
    const bool same = files.text_of(files.to) == text;
    CHECK(same);
    CHECK(files.io.run(fs::status(files.io, files.to)).permissions == permissions);
    files.io.run(fs::remove(files.io, files.from));
    files.io.run(fs::remove(files.io, files.to));
  }
  ::umask(umask);
}

TEST_CASE("copy_file: an existing file is an error or replaced, as asked") {
  copied_files files;
  files.write_text(files.from, "new");
  files.write_text(files.to, "older and longer");
  const std::string path = files.to.native();
  CHECK(files.failure() == "cannot open " + path + ": File exists");
  CHECK(files.text_of(files.to) == "older and longer");
  CHECK(files.copy(file_open_mode::truncate_existing) == 3);
  CHECK(files.text_of(files.to) == "new");
  files.write_text(files.to, "older and longer");
  CHECK(files.copy(file_open_mode::create_always) == 3);
  CHECK(files.text_of(files.to) == "new");
  files.io.run(fs::remove(files.io, files.to));
  CHECK(files.failure(file_open_mode::truncate_existing) ==
        "cannot open " + path + ": No such file or directory");
}

TEST_CASE("copy_file: a file is not copied onto itself, under whatever name") {
  copied_files files;
  files.write_text(files.from, "text");
  files.io.run(fs::create_hard_link(files.io, files.from, files.to));
  CHECK(files.failure(file_open_mode::create_always) ==
        "cannot copy " + files.from.native() + " to " + files.to.native() + ": File exists");
  CHECK(files.text_of(files.from) == "text");
}

TEST_CASE("copy_file: relative paths begin in the two directories") {
  copied_files files;
  files.make_folders(files / "a");
  files.make_folders(files / "b");
  files.write_text(files / "a/name", "text");
  const auto work = [&]() -> task<> {
    const coracle::directory a = co_await fs::open_directory(files.io, files / "a");
    const coracle::directory b = co_await fs::open_directory(files.io, files / "b");
    co_await fs::copy_file(a, "name", b, "name");
  };
  files.io.run(work());
  CHECK(files.text_of(files / "b/name") == "text");
}

TEST_CASE("copy_file: errors name the paths") {
  copied_files files;
  const std::string from = files.from.native(), to = files.to.native();
  CHECK(files.failure() == "cannot open " + from + ": No such file or directory");
  CHECK(!files.io.run(fs::exists(files.io, files.to)));
  files.make_folders(files.from);
  CHECK(files.failure() == "cannot open " + from + ": Is a directory");
  files.from = files / "file";
  files.write_text(files.from, "");
  files.make_folders(files.to);
  CHECK(files.failure(file_open_mode::create_always) == "cannot open " + to + ": Is a directory");
}

TEST_CASE("copy_file: progress is reported, and stops the copy between two pieces") {
  copied_files files;
  constexpr std::uint64_t mib = 1 << 20;
  files.write_text(files.from, std::string(40 * mib, 'x'));
  std::vector<std::uint64_t> seen;
  coracle::stop_source stop;
  std::string end;
  const auto work = [&](bool stops) -> task<> {
    const auto note = [&](std::uint64_t bytes) {
      seen.push_back(bytes);
      if (stops) stop.request_stop();
    };
    try {
      co_await fs::copy_file(files.io, files.from, files.io, files.to, file_open_mode::create_always, note);
      end = "copied";
    } catch (const coracle::operation_cancelled&) {
      end = "cancelled";
    }
  };
  files.io.run(work(false));
  CHECK(end == "copied");
  REQUIRE(!seen.empty());
  CHECK(seen.back() == 40 * mib);
  if (seen.size() == 1) return;  // the two files share their blocks
  CHECK(seen.front() == 16 * mib);
  seen.clear();
  files.io.run(coracle::with_stop(work(true), stop.get_token()));
  CHECK(end == "cancelled");
  CHECK(seen.size() == 1);
}
}  // namespace
