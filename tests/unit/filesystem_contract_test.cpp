// tests/unit/filesystem_contract_test.cpp -- the contract of operations on paths, of the system and of a
// simulated host.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/copy_file.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/walk_directory.hpp>
#include <coracle/io/whole_file.hpp>
#include <filesystem>
#include <string>
#include <utility>

#include "files_under_test.hpp"

namespace {
namespace fs = coracle::filesystem;
using coracle::directory;
using coracle::file_open_mode;
using coracle::file_status;
using coracle::task;
using coracle_test::failure_of;
using coracle_test::files_under_test;

TEST_CASE("filesystem: rename moves a file and replaces another") {
  files_under_test here;
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

TEST_CASE("filesystem: the status of a file and of a directory; remove") {
  files_under_test here;
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

TEST_CASE("filesystem: files are opened, created and read without blocking") {
  files_under_test here;
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

TEST_CASE("filesystem: relative paths begin in the directory that is given") {
  files_under_test here;
  here.write_text(here / "d/a", "text");
  const auto use = [&]() -> task<> {
    directory in_d = co_await fs::open_directory(here.io, here / "d");
    const directory moved = std::move(in_d);
    CHECK(moved.path() == here / "d");
    co_await fs::rename(moved, "a", "b");
    CHECK(co_await fs::exists(moved, "b"));
    const coracle::read_only_file in = co_await fs::open_read_only(moved, "b");
    CHECK(in.size() == 4);
    co_await moved.sync();
  };
  here.io.run(use());
  CHECK(here.text_of(here / "d/b") == "text");
}

TEST_CASE("filesystem: an error names a relative path behind that of the open directory") {
  files_under_test here;
  here.write_text(here / "d/a", "text");
  const std::string d_path = (here / "d").native();
  const std::string a = d_path + "/a", b = d_path + "/b", missing = ": No such file or directory";
  const auto first_entry = [](const directory& in) -> task<> {
    auto entries = fs::list_directory(in, "b");
    co_await entries.next();
  };
  const auto use = [&]() -> task<> {
    const directory d = co_await fs::open_directory(here.io, here / "d");
    const directory same = co_await fs::open_directory(d, ".");
    CHECK(same.path() == d.path() / ".");
    CHECK(co_await failure_of(fs::open_read_only(d, "b")) == "cannot open " + b + missing);
    CHECK(co_await failure_of(fs::open_read_only(d, "/no/b")) == "cannot open /no/b" + missing);
    CHECK(co_await failure_of(fs::open_read_only(d, ".")) == "cannot open " + d_path + "/.: Is a directory");
    CHECK(co_await failure_of(fs::rename(d, "b", "c")) ==
          "cannot rename " + b + " to " + d_path + "/c" + missing);
    CHECK(co_await failure_of(fs::create_symlink(d, "x", "a")) ==
          "cannot make a symbolic link to x at " + a + ": File exists");
    CHECK(co_await failure_of(fs::read_symlink(d, "a")) ==
          "cannot read the symbolic link " + a + ": Invalid argument");
    CHECK(co_await failure_of(fs::copy_file(d, "a", here.io, a, file_open_mode::create_always)) ==
          "cannot copy " + a + " to " + a + ": File exists");
    CHECK(co_await failure_of(first_entry(d)) == "cannot list " + b + missing);
    const coracle::read_only_file file = co_await fs::open_read_only(d, "a");
    char room[5];
    CHECK(co_await failure_of(file.read_exactly(0, room, 5)) ==
          "unexpected end of file: " + a + ": No data available");
  };
  here.io.run(use());
}

TEST_CASE("filesystem: an error says what failed, and for which paths") {
  files_under_test here;
  const std::string a = (here / "a").native(), b = (here / "b").native();
  const auto use = [&]() -> task<> {
    const std::string missing = ": No such file or directory";
    CHECK(co_await failure_of(fs::rename(here.io, a, b)) == "cannot rename " + a + " to " + b + missing);
    CHECK(co_await failure_of(fs::status(here.io, a)) == "cannot ask for the status of " + a + missing);
    CHECK(co_await failure_of(fs::remove(here.io, a)) == "cannot remove " + a + missing);
    CHECK(co_await failure_of(fs::open_read_only(here.io, a)) == "cannot open " + a + missing);
    CHECK(co_await failure_of(fs::rename(here.io, a, "")) == "cannot rename " + a + " to \"\"" + missing);
    CHECK(co_await failure_of(fs::open_read_only(here.io, "")) == "cannot open \"\"" + missing);
    CHECK(co_await failure_of(fs::read_symlink(here.io, "")) ==
          "cannot read the symbolic link \"\"" + missing);
    CHECK(co_await failure_of(fs::create_symlink(here.io, "", b)) ==
          "cannot make a symbolic link to \"\" at " + b + missing);
    here.write_text(a, "text");
    CHECK(co_await failure_of(fs::open_write_only(here.io, a, file_open_mode::create_new)) ==
          "cannot open " + a + ": File exists");
    CHECK(co_await failure_of(fs::open_directory(here.io, a)) == "cannot open " + a + ": Not a directory");
    const std::string folder = (here / "folder").native();
    co_await fs::create_directory(here.io, folder);
    CHECK(co_await failure_of(fs::rename(here.io, folder, folder + "/inside")) ==
          "cannot rename " + folder + " to " + folder + "/inside: Invalid argument");
  };
  here.io.run(use());
}

TEST_CASE("filesystem: a path with a NUL in it names no file") {
  using namespace std::string_literals;
  files_under_test here;
  here.write_text(here / "a", "text");
  const auto use = [&]() -> task<> {
    const std::string path = (here / "a").native() + "\0b"s;
    const std::string failure = co_await failure_of(fs::remove(here.io, path));
    CHECK(failure ==
          "cannot remove " + (here / "a").native() + ", a path with a NUL in it: Invalid argument");
    CHECK((co_await failure_of(fs::rename(here.io, here / "a", path))).ends_with("Invalid argument"));
    CHECK(co_await fs::exists(here.io, here / "a"));
    co_await fs::create_symlink(here.io, "a", here / "soft");
    CHECK(co_await failure_of(fs::read_symlink(here.io, (here / "soft").native() + "\0b"s)) ==
          "cannot read the symbolic link " + (here / "soft").native() +
              ", a path with a NUL in it: Invalid argument");
  };
  here.io.run(use());
}

TEST_CASE("filesystem: an operation that has failed is carried out when it is awaited again") {
  using namespace std::string_literals;
  files_under_test here;
  const auto once = [](auto& operation) -> task<> { co_await operation; };
  const auto use = [&]() -> task<> {
    co_await fs::create_directory(here.io, here / "a");
    co_await fs::create_symlink(here.io, "a", here / "b");
    auto move = fs::rename(here.io, here / "a", here / "b/inside");
    for (int i = 0; i != 2; ++i) CHECK((co_await failure_of(once(move))).ends_with("Invalid argument"));
    co_await fs::remove(here.io, here / "b");
    co_await fs::create_directory(here.io, here / "b");
    CHECK(co_await failure_of(once(move)) == "");
    CHECK(co_await fs::exists(here.io, here / "b/inside"));
    auto refused = fs::remove(here.io, (here / "b").native() + "\0c"s);
    for (int i = 0; i != 2; ++i) CHECK((co_await failure_of(once(refused))).ends_with("Invalid argument"));
  };
  here.io.run(use());
}

TEST_CASE("filesystem: stopped before, nothing is done") {
  files_under_test here;
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
TEST_CASE("filesystem: a whole file is written, appended to and read back") {
  files_under_test here;
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

TEST_CASE("filesystem: write_atomically replaces a file, or creates it") {
  files_under_test here;
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

TEST_CASE("filesystem: a write_atomically that is stopped changes nothing") {
  files_under_test here;
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
TEST_CASE("filesystem: links of both kinds, and where they lead") {
  files_under_test here;
  here.write_text(here / "a", "text");
  const auto use = [&]() -> task<> {
    co_await fs::create_hard_link(here.io, here / "a", here / "hard");
    co_await fs::create_symlink(here.io, "a", here / "soft");
    co_await fs::create_symlink(here.io, "nowhere", here / "d/dangling");
    const file_status hard = co_await fs::status(here.io, here / "hard");
    const file_status soft = co_await fs::status(here.io, here / "soft");
    CHECK(hard.links == 2);
    CHECK(hard.inode == soft.inode);
    CHECK(hard.device == soft.device);
    const file_status itself = co_await fs::symlink_status(here.io, here / "soft");
    CHECK(itself.is_symlink());
    CHECK(itself.size == 1);
    CHECK(itself.permissions == std::filesystem::perms::all);  // whatever the umask
    CHECK(co_await fs::read_symlink(here.io, here / "soft") == "a");
    const directory d = co_await fs::open_directory(here.io, here / "d");
    CHECK(co_await fs::read_symlink(d, "dangling") == "nowhere");
    CHECK(!co_await fs::exists(d, "dangling"));
    CHECK(!co_await fs::exists(d, "dangling/below"));
    const std::string a = (here / "a").native();
    CHECK(co_await failure_of(fs::read_symlink(here.io, a)) ==
          "cannot read the symbolic link " + a + ": Invalid argument");
    CHECK(co_await failure_of(fs::create_hard_link(here.io, a, a)) ==
          "cannot link " + a + " to " + a + ": File exists");
    CHECK(co_await failure_of(fs::create_symlink(here.io, "x", a)) ==
          "cannot make a symbolic link to x at " + a + ": File exists");
  };
  here.io.run(use());
}

TEST_CASE("filesystem: directories are created and removed, with the permissions that are given") {
  files_under_test here;
  const ::mode_t umask = ::umask(0022);
  const auto use = [&]() -> task<> {
    using std::filesystem::perms;
    co_await fs::create_directory(here.io, here / "new");
    const file_status made = co_await fs::status(here.io, here / "new");
    CHECK(made.is_directory());
    CHECK(made.permissions == static_cast<perms>(0755));
    co_await fs::create_directory(here.io, here / "secret", perms::owner_all);
    const file_status secret = co_await fs::status(here.io, here / "secret");
    CHECK(secret.permissions == perms::owner_all);
    const std::string name = (here / "new").native();
    CHECK(co_await failure_of(fs::create_directory(here.io, name)) ==
          "cannot create the directory " + name + ": File exists");
    CHECK(co_await failure_of(fs::remove(here.io, name)) == "cannot remove " + name + ": Is a directory");
    co_await fs::remove_directory(here.io, name);
    CHECK(!co_await fs::exists(here.io, name));
    const auto file = co_await fs::open_write_only(here.io, here / "file", file_open_mode::create_new, {},
                                                   perms::owner_read);
    const file_status its = co_await fs::status(here.io, here / "file");
    CHECK(its.permissions == perms::owner_read);
  };
  here.io.run(use());
  ::umask(umask);
}

TEST_CASE("filesystem: a write_atomically that fails leaves nothing behind") {
  files_under_test here;
  here.make_folders(here / "d/in_the_way");
  const auto use = [&]() -> task<> {
    const std::string failure =
        co_await failure_of(fs::write_atomically(here.io, here / "d/in_the_way", "new"));
    const std::string d = (here / "d").native();
    CHECK(failure.starts_with("cannot rename " + d + "/.in_the_way."));
    CHECK(failure.ends_with(" to " + d + "/in_the_way: Is a directory"));
    CHECK((co_await failure_of(fs::write_atomically(here.io, here / "no/a", "new")))
              .starts_with("cannot open"));
    std::size_t left = 0;
    auto entries = fs::list_directory(here.io, here / "d");
    while (co_await entries.next()) ++left;
    CHECK(left == 1);
  };
  here.io.run(use());
}

TEST_CASE("filesystem: mistakes with directories and links, and what they give") {
  files_under_test here;
  here.write_text(here / "d/a", "text");
  here.make_folders(here / "empty");
  const auto use = [&]() -> task<> {
    const directory in = co_await fs::open_directory(here.io, here / ".");
    CHECK((co_await failure_of(fs::remove_directory(in, "d"))).ends_with(": Directory not empty"));
    CHECK((co_await failure_of(fs::remove_directory(in, "d/a"))).ends_with(": Not a directory"));
    CHECK((co_await failure_of(fs::rename(in, "d", "d/below"))).ends_with(": Invalid argument"));
    CHECK((co_await failure_of(fs::rename(in, "d/a", "empty"))).ends_with(": Is a directory"));
    CHECK((co_await failure_of(fs::rename(in, "empty", "d/a"))).ends_with(": Not a directory"));
    CHECK((co_await failure_of(fs::rename(in, "empty", "d"))).ends_with(": Directory not empty"));
    CHECK((co_await failure_of(fs::status(in, "d/a/b"))).ends_with(": Not a directory"));
    CHECK((co_await failure_of(fs::status(in, "d/a/"))).ends_with(": Not a directory"));
    CHECK((co_await failure_of(fs::open_write_only(in, "no/a"))).ends_with(": No such file or directory"));
    CHECK((co_await failure_of(fs::open_write_only(in, "d"))).ends_with(": Is a directory"));
    CHECK((co_await failure_of(fs::create_directory(in, "no/a"))).ends_with(": No such file or directory"));
    CHECK((co_await failure_of(fs::create_hard_link(in, "d", "e"))).ends_with(": Operation not permitted"));
    const std::string longest(255, 'n');
    CHECK(!co_await fs::exists(in, longest));
    CHECK((co_await failure_of(fs::exists(in, longest + "n"))).ends_with(": File name too long"));
    co_await fs::create_symlink(in, "loop", "loop");
    CHECK((co_await failure_of(fs::status(in, "loop"))).ends_with(": Too many levels of symbolic links"));
    CHECK((co_await failure_of(fs::read_symlink(in, "d/a"))).ends_with(": Invalid argument"));
    co_await fs::rename(in, "d", "empty");
    CHECK(!co_await fs::exists(in, "d"));
    CHECK(co_await fs::exists(in, "empty/../empty/./a"));
  };
  here.io.run(use());
}

TEST_CASE("filesystem: a path that ends in a slash, and what it gives") {
  files_under_test here;
  here.write_text(here / "file", "text");
  const auto use = [&]() -> task<> {
    const directory in = co_await fs::open_directory(here.io, here / ".");
    co_await fs::create_symlink(in, "d", "to_d");
    co_await fs::create_symlink(in, "file", "to_file");
    co_await fs::create_symlink(in, "file/", "to_folder");
    co_await fs::create_symlink(in, "none", "to_none");
    // A call that changes a name changes that of the link, and not of what it leads to.
    CHECK((co_await failure_of(fs::remove_directory(in, "to_d/"))).ends_with(": Not a directory"));
    CHECK((co_await failure_of(fs::remove(in, "to_d/"))).ends_with(": Not a directory"));
    CHECK((co_await failure_of(fs::rename(in, "to_d/", "e"))).ends_with(": Not a directory"));
    CHECK((co_await failure_of(fs::create_directory(in, "to_none/"))).ends_with(": File exists"));
    CHECK((co_await failure_of(fs::create_directory(in, "file/"))).ends_with(": File exists"));
    CHECK((co_await failure_of(fs::create_symlink(in, "d", "file/"))).ends_with(": File exists"));
    CHECK((co_await failure_of(fs::create_hard_link(in, "file", "to_file/"))).ends_with(": File exists"));
    CHECK((co_await failure_of(fs::rename(in, "file/", "e"))).ends_with(": Not a directory"));
    CHECK((co_await failure_of(fs::rename(in, "file", "e/"))).ends_with(": Not a directory"));
    // No file is created by such a path, even if there is one.
    CHECK((co_await failure_of(fs::open_write_only(in, "e/"))).ends_with(": Is a directory"));
    CHECK((co_await failure_of(fs::open_write_only(in, "file/"))).ends_with(": Is a directory"));
    CHECK((co_await failure_of(fs::open_write_only(in, "to_folder"))).ends_with(": Is a directory"));
    CHECK((co_await failure_of(fs::open_read_only(in, "to_folder"))).ends_with(": Not a directory"));
    CHECK((co_await failure_of(fs::status(in, "to_folder"))).ends_with(": Not a directory"));
    CHECK((co_await fs::symlink_status(in, "to_d/")).type == std::filesystem::file_type::directory);
    co_await fs::create_directory(in, "new/");
    co_await fs::rename(in, "new/", "newer/");
    co_await fs::remove_directory(in, "newer/");
  };
  here.io.run(use());
}

TEST_CASE("filesystem: a path that ends in a dot or two; a rename that would replace what is above") {
  files_under_test here;
  here.make_folders(here / "d/below");
  here.write_text(here / "d/below/file", "text");
  const auto use = [&]() -> task<> {
    const directory in = co_await fs::open_directory(here.io, here / "d");
    CHECK((co_await failure_of(fs::remove_directory(in, "."))).ends_with(": Invalid argument"));
    CHECK((co_await failure_of(fs::remove_directory(in, "below/./"))).ends_with(": Invalid argument"));
    CHECK((co_await failure_of(fs::remove_directory(in, "below/.."))).ends_with(": Directory not empty"));
    CHECK((co_await failure_of(fs::remove_directory(in, "/"))).ends_with(": Device or resource busy"));
    CHECK((co_await failure_of(fs::remove(in, "."))).ends_with(": Is a directory"));
    CHECK((co_await failure_of(fs::rename(in, "below", "."))).ends_with(": Device or resource busy"));
    CHECK((co_await failure_of(fs::rename(in, "none", ".."))).ends_with(": Device or resource busy"));
    CHECK((co_await failure_of(fs::rename(in, "below/file", "below"))).ends_with(": Directory not empty"));
    CHECK((co_await failure_of(fs::rename(in, "none", "below/file/a"))).ends_with(": Not a directory"));
  };
  here.io.run(use());
}

TEST_CASE("filesystem: a file is created where a symbolic link leads; a removed one can still be read") {
  files_under_test here;
  const auto use = [&]() -> task<> {
    co_await fs::create_symlink(here.io, "target", here / "d/link");
    co_await fs::write_file(here.io, here / "d/link", "text");
    CHECK(here.text_of(here / "d/target") == "text");
    const auto file = co_await fs::open_read_only(here.io, here / "d/target");
    co_await fs::remove(here.io, here / "d/target");
    std::string text(4, ' ');
    co_await file.read_exactly(0, text.data(), text.size());
    CHECK(text == "text");
    CHECK(!co_await fs::exists(here.io, here / "d/link"));
    co_await fs::remove(here.io, here / "d/link");
    co_await fs::remove_directory(here.io, here / "d");
  };
  here.io.run(use());
}
}  // namespace
