// tests/unit/file_test.cpp -- files of the system: opening, large offsets, errors, buffering, lifetime, cost.
// file_contract_test.cpp has what holds for a simulated host too.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/owned_descriptor.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/io/read_write_file.hpp>
#include <coracle/io/write_only_file.hpp>
#include <coracle/testing/allocations.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/temporary_folder.hpp"
#include "../support/test_coroutine.hpp"

namespace {
namespace fs = std::filesystem;

using coracle::file_buffering_mode;
using coracle::file_open_mode;
using coracle::file_share_mode;
using coracle::io_service;
using coracle::read_only_file;
using coracle::read_write_file;
using coracle::task;
using coracle::write_only_file;
using coracle_test::detached;
using coracle_test::temporary_folder;
using coracle_test::text_of;
using coracle_test::write_text;

/// The error that `body` throws, if any.
template <class Body>
std::optional<std::system_error> thrown(Body body) {
  try {
    body();
  } catch (const std::system_error& error) {
    return error;
  }
  return std::nullopt;
}
bool mentions(const std::system_error& found, const fs::path& path) {
  return std::string_view(found.what()).find(path.native()) != std::string_view::npos;
}
TEST_CASE("file: offsets beyond 4 GiB, in a sparse file of 5 GiB") {
  const temporary_folder folder;
  constexpr std::uint64_t gib = 1024 * 1024 * 1024;
  io_service io;
  io.run([&]() -> task<> {
    auto file = read_write_file::open(io, folder / "a");
    CHECK(co_await file.write(5 * gib, "end", 3) == 3);
    CHECK(co_await file.write(gib, "one", 3) == 3);
    CHECK(file.size() == 5 * gib + 3);
    std::array<char, 8> buffer;
    CHECK(co_await file.read(5 * gib, buffer.data(), buffer.size()) == 3);
    CHECK(std::string_view(buffer.data(), 3) == "end");
    CHECK(co_await file.read(gib, buffer.data(), 3) == 3);
    CHECK(std::string_view(buffer.data(), 3) == "one");
    file.set_size(4 * gib + 1);
    CHECK(file.size() == 4 * gib + 1);
  }());
}

TEST_CASE("file: each open mode on a file that exists and on one that does not") {
  const temporary_folder folder;
  io_service io;
  struct expectation {
    file_open_mode mode;
    std::optional<std::errc> if_exists, if_missing;  // none: it opens
    std::string_view text_after;                     // of one that existed
  };
  constexpr auto none = std::errc::no_such_file_or_directory;
  const std::vector<expectation> table{
      {file_open_mode::open_existing, {}, none, "text"},
      {file_open_mode::create_always, {}, {}, ""},
      {file_open_mode::create_new, std::errc::file_exists, {}, "text"},
      {file_open_mode::create_or_open, {}, {}, "text"},
      {file_open_mode::truncate_existing, {}, none, ""},
  };
  const fs::path exists = folder / "exists", missing = folder / "missing";
  const auto check = [&](std::optional<std::errc> wanted, auto open) {
    const auto error = thrown(open);
    CHECK(error.has_value() == wanted.has_value());
    if (error && wanted) CHECK(error->code() == *wanted);
  };
  for (const expectation& each : table) {
    CAPTURE(static_cast<int>(each.mode));
    const auto open_both = [&](const fs::path& path, std::optional<std::errc> wanted) {
      check(wanted, [&] { static_cast<void>(write_only_file::open(io, path, each.mode)); });
      if (path == missing) fs::remove(missing);
      check(wanted, [&] { static_cast<void>(read_write_file::open(io, path, each.mode)); });
    };
    write_text(exists, "text");
    open_both(exists, each.if_exists);
    CHECK(text_of(exists) == each.text_after);
    open_both(missing, each.if_missing);
    CHECK(fs::exists(missing) == !each.if_missing.has_value());
    fs::remove(missing);
  }
}

TEST_CASE("file: an error says what was done and to which file") {
  const temporary_folder folder;
  io_service io;
  const fs::path missing = folder / "missing";
  const auto not_found = thrown([&] { static_cast<void>(read_only_file::open(io, missing)); });
  REQUIRE(not_found);
  CHECK(not_found->code() == std::errc::no_such_file_or_directory);
  CHECK(mentions(*not_found, missing));
  const fs::path inside = folder / ".";
  const auto directory = thrown([&] { static_cast<void>(read_only_file::open(io, inside)); });
  REQUIRE(directory);
  CHECK(directory->code() == std::errc::is_a_directory);
  CHECK(mentions(*directory, inside));
  auto file = write_only_file::open(io, folder / "a");
  const auto too_large = thrown([&] { file.set_size(~std::uint64_t{0}); });
  REQUIRE(too_large);
  CHECK(too_large->code() == std::errc::invalid_argument);
  CHECK(mentions(*too_large, folder / "a"));
}

TEST_CASE("file: writing to a full device is an error with its path") {
  io_service io;
  std::optional<std::system_error> full;
  io.run([&]() -> task<> {
    auto file = write_only_file::open(io, "/dev/full", file_open_mode::open_existing);
    try {
      co_await file.write(0, "x", 1);
    } catch (const std::system_error& error) {
      full = error;
    }
  }());
  REQUIRE(full);
  CHECK(full->code() == std::errc::no_space_on_device);
  CHECK(mentions(*full, "/dev/full"));
}

TEST_CASE(
    "file: sync() makes durable what was written, and what cannot be made so is an error with its path") {
  const temporary_folder folder;
  io_service io;
  std::optional<std::system_error> refused;
  io.run([&]() -> task<> {
    auto file = write_only_file::open(io, folder / "a");
    co_await file.write(0, "x", 1);
    co_await file.sync();
    auto no_device = write_only_file::open(io, "/dev/null", file_open_mode::open_existing);
    try {
      co_await no_device.sync();
    } catch (const std::system_error& error) {
      refused = error;
    }
  }());
  CHECK(text_of(folder / "a") == "x");
  REQUIRE(refused);
  CHECK(refused->code() == std::errc::invalid_argument);
  CHECK(mentions(*refused, "/dev/null"));
}

TEST_CASE("file: the buffering modes reach the system, and programs that are started inherit no file") {
  const temporary_folder folder;
  io_service io;
  const auto flags_with = [&](file_buffering_mode mode) {
    const auto file =
        read_write_file::open(io, folder / "a", file_open_mode::create_or_open, file_share_mode::none, mode);
    CHECK((::fcntl(file.native_handle(), F_GETFD) & FD_CLOEXEC) != 0);
    return ::fcntl(file.native_handle(), F_GETFL) & (O_DSYNC | O_DIRECT);
  };
  CHECK(flags_with(file_buffering_mode::default_) == 0);
  CHECK(flags_with(file_buffering_mode::sequential | file_buffering_mode::temporary) == 0);
  CHECK(flags_with(file_buffering_mode::random_access) == 0);
  CHECK(flags_with(file_buffering_mode::write_through | file_buffering_mode::random_access) == O_DSYNC);
  // Some file systems do not support O_DIRECT.
  const auto unbuffered = thrown([&] { CHECK(flags_with(file_buffering_mode::unbuffered) == O_DIRECT); });
  if (unbuffered) CHECK(unbuffered->code() == std::errc::invalid_argument);
}

TEST_CASE("file: unbuffered, it reads and writes whole aligned blocks") {
  const temporary_folder folder;
  io_service io;
  struct alignas(4096) block {
    std::array<char, 4096> bytes;
  };
  const auto out = std::make_unique<block>(), in = std::make_unique<block>();
  out->bytes.fill('u');
  std::optional<read_write_file> file;
  const auto refused = thrown([&] {
    file = read_write_file::open(io, folder / "a", file_open_mode::create_new, file_share_mode::none,
                                 file_buffering_mode::unbuffered);
  });
  if (refused) {
    MESSAGE("unbuffered files are NOT tested here: ", refused->what());
    return;
  }
  io.run([&]() -> task<> {
    CHECK(co_await file->write(4096, out.get(), sizeof(block)) == sizeof(block));
    CHECK(co_await file->read(4096, in.get(), sizeof(block)) == sizeof(block));
  }());
  CHECK(in->bytes == out->bytes);
}

TEST_CASE("file: a FIFO has no offsets, whatever the size: an error, and nothing is taken from it") {
  temporary_folder folder;
  const fs::path path = folder / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const coracle::owned_descriptor both{::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)};
  REQUIRE(::write(both.get(), "bytes", 5) == 5);
  io_service io;
  read_write_file file = read_write_file::open(io, path, file_open_mode::open_existing);
  std::string room(std::size_t{2} << 20, '?');
  for (const std::size_t size : {std::size_t{5}, room.size()}) {
    CAPTURE(size);
    const coracle::mutable_buffer to[] = {{room.data(), size}};
    const coracle::const_buffer from[] = {{room.data(), size}};
    const auto fails = [&](auto operation) {
      const auto error = thrown([&] { io.run(std::move(operation)); });
      return error && error->code() == std::errc::invalid_seek;
    };
    CHECK(fails(file.read(0, room.data(), size)));
    CHECK(fails(file.read(0, to)));
    CHECK(fails(file.write(0, room.data(), size)));
    CHECK(fails(file.write(0, from)));
  }
  CHECK(::read(both.get(), room.data(), room.size()) == 5);
}

TEST_CASE("file: moving it moves what it has open, assigning to it closes what it had") {
  const temporary_folder folder;
  io_service io;
  auto file = read_write_file::open(io, folder / "a"), other = read_write_file::open(io, folder / "b");
  const int descriptor = file.native_handle(), closed = other.native_handle();
  read_write_file moved = std::move(file);
  CHECK(moved.native_handle() == descriptor);
  other = std::move(moved);
  CHECK(other.native_handle() == descriptor);
  CHECK(::fcntl(closed, F_GETFD) == -1);
  io.run([&]() -> task<> { CHECK(co_await other.write(0, "a", 1) == 1); }());
  CHECK(text_of(folder / "a") == "a");
  CHECK(text_of(folder / "b").empty());
}

/// A file whose writes take a thread.
write_only_file write_through(io_service& io, const fs::path& path, file_open_mode mode) {
  return write_only_file::open(io, path, mode, file_share_mode::none, file_buffering_mode::write_through);
}

TEST_CASE("file: a coroutine resumes on the executor where it waited") {
  const temporary_folder folder;
  io_service io;
  coracle::run_loop loop;
  auto file = write_through(io, folder / "a", file_open_mode::create_or_open);
  bool written = false;
  const auto write = [&]() -> detached {
    co_await loop.schedule();
    CHECK(co_await file.write(0, "x", 1) == 1);
    written = coracle::current_executor() == &loop;
  };
  write();
  CHECK(loop.run_one());
  CHECK(io.process_one_event() == 1);
  CHECK_FALSE(written);
  CHECK(loop.run_one());
  CHECK(written);
}

TEST_CASE("file: closed while an operation waits ends the program and says so") {
  const std::string message = coracle_test::abort_message([] {
    io_service io;
    for (int i = 0; i != 1000; ++i) {  // a write that is over already is none that waits
      std::optional<write_only_file> file = write_through(io, "/dev/null", file_open_mode::open_existing);
      const auto one = coracle_test::started(file->write(0, "x", 1)),
                 other = coracle_test::started(file->write(0, "x", 1));
      file.reset();
    }
  });
  CHECK(message.find("closed while operations on it were pending") != std::string::npos);
}

TEST_CASE("file: reading and writing allocate nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const temporary_folder folder;
  io_service io;
  std::size_t allocated = 0;
  io.run([&]() -> task<> {
    auto file = read_write_file::open(io, folder / "a");
    std::array<char, 16> buffer{};
    co_await file.write(0, buffer.data(), buffer.size());  // starts the first thread
    const auto before = coracle::testing::allocations();
    for (int i = 0; i != 20; ++i) {
      co_await file.write(0, buffer.data(), buffer.size());
      co_await file.read(0, buffer.data(), buffer.size());
    }
    allocated = coracle::testing::allocations() - before;
  }());
  CHECK(allocated == 0);
}

static_assert(!std::is_copy_constructible_v<read_write_file> &&
              std::is_nothrow_move_constructible_v<read_write_file> &&
              std::is_nothrow_move_assignable_v<read_write_file> &&
              std::is_nothrow_move_assignable_v<read_only_file> &&
              std::is_nothrow_move_assignable_v<write_only_file>);
static_assert(std::has_virtual_destructor_v<coracle::readable_file>);
}  // namespace
