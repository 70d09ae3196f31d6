// tests/unit/file_contract_test.cpp -- the contract of every file: of the system, whose operations run on
// blocking threads, and of a simulated host.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/file_lock.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/io/read_write_file.hpp>
#include <coracle/io/write_only_file.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "../support/test_coroutine.hpp"
#include "files_under_test.hpp"

namespace {
using coracle::const_buffer;
using coracle::file_lock;
using coracle::io_service;
using coracle::mutable_buffer;
using coracle::operation_cancelled;
using coracle::read_only_file;
using coracle::read_write_file;
using coracle::stop_source;
using coracle::task;
using coracle::write_only_file;
using coracle_test::files_under_test;
using coracle_test::is_cancelled;

TEST_CASE("file: what is written is read back, from the same file and from another that is opened on it") {
  files_under_test here;
  io_service& io = here.io;
  io.run([&]() -> task<> {
    auto both = read_write_file::open(io, here / "a");
    CHECK(co_await both.write(0, "0123456789", 10) == 10);
    std::array<char, 4> buffer;
    CHECK(co_await both.read(3, buffer.data(), 4) == 4);
    CHECK(std::string_view(buffer.data(), 4) == "3456");
    const auto other = read_only_file::open(io, here / "a");
    CHECK(other.size() == 10);
    CHECK(co_await other.read(6, buffer.data(), 4) == 4);
    CHECK(std::string_view(buffer.data(), 4) == "6789");
  }());
  CHECK(here.text_of(here / "a") == "0123456789");
}

TEST_CASE("file: {} behind a text or an array is the stop token, not a size of 0") {
  files_under_test here;
  auto both = read_write_file::open(here.io, here / "a");
  std::size_t done = 0;
  here.io.run(both.write_all(0, "text", {}, &done));
  CHECK(done == 4);
  CHECK(here.io.run(both.write(4, "more", {})) == 4);
  std::byte room[8];
  CHECK(here.io.run(both.read_exactly(0, room, {})) == 8);
  CHECK(here.io.run(both.read(0, room, {})) == 8);
}

TEST_CASE("file: a span or text says where the bytes are, as a pointer and a size do") {
  files_under_test here;
  io_service& io = here.io;
  const std::string_view text = "0123456789";
  io.run([&]() -> task<> {
    auto both = read_write_file::open(io, here / "a");
    CHECK(co_await both.write(0, text.substr(0, 2)) == 2);
    CHECK(co_await both.write(2, std::as_bytes(std::span{text.substr(2, 2)})) == 2);
    co_await both.write_all(4, text.substr(4, 3));
    co_await both.write_all(7, std::as_bytes(std::span{text.substr(7)}));
    std::string got(10, '?');
    const auto room = std::as_writable_bytes(std::span{got});
    CHECK(co_await both.read(0, room.first(4)) == 4);
    CHECK(co_await both.read_exactly(4, room.subspan(4)) == 6);
    CHECK(got == text);
    std::size_t done = 8;
    CHECK(co_await both.read_exactly(0, room, {}, &done) == 10);
    co_await both.write_all(0, std::string_view("??????????"), {}, &done);
    CHECK(co_await both.read(0, room) == 10);
    CHECK(got == text);
  }());
}

TEST_CASE("file: a path with a NUL in it names no file, rather than the one before the NUL") {
  using namespace std::string_literals;
  files_under_test here;
  here.write_text(here / "a", "text");
  std::filesystem::path path = here / "a";
  const std::string message =
      "cannot open a path that contains a NUL: " + path.native() + ": Invalid argument";
  path += "\0b"s;
  CHECK_THROWS_WITH_AS(static_cast<void>(read_only_file::open(here.io, path)), message.c_str(),
                       std::system_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(write_only_file::open(here.io, path)), message.c_str(),
                       std::system_error);
}

TEST_CASE("file: a read gives fewer bytes where the file ends, and none beyond") {
  files_under_test here;
  here.write_text(here / "a", "abcdef");
  io_service& io = here.io;
  io.run([&]() -> task<> {
    const auto file = read_only_file::open(io, here / "a");
    std::array<char, 16> buffer;
    CHECK(co_await file.read(4, buffer.data(), buffer.size()) == 2);
    CHECK(std::string_view(buffer.data(), 2) == "ef");
    CHECK(co_await file.read(6, buffer.data(), buffer.size()) == 0);
    CHECK(co_await file.read(6'000'000, buffer.data(), buffer.size()) == 0);
    constexpr std::uint64_t half = std::uint64_t{1} << 63;
    CHECK(co_await file.read(half - 1, buffer.data(), buffer.size()) == 0);
    CHECK(co_await file.read(half, buffer.data(), buffer.size()) == 0);
    CHECK(co_await file.read(half + (half - 1), buffer.data(), buffer.size()) == 0);
    CHECK(co_await file.read(0, buffer.data(), 0) == 0);
    CHECK(co_await file.read(0, mutable_buffer{}) == 0);
    std::string much(std::size_t{2} << 20, '\0');  // more than is tried without waiting
    CHECK(co_await file.read(half - 1, much) == 0);
    CHECK(co_await file.read(half + (half - 1), much) == 0);
    const mutable_buffer parts[] = {mutable_buffer(much), mutable_buffer(buffer.data(), 1)};
    CHECK(co_await file.read(half, parts) == 0);
  }());
}

TEST_CASE("file: write_all() and read_exactly() do it all; a file that ends between is an error") {
  files_under_test here;
  io_service& io = here.io;
  io.run([&]() -> task<> {
    auto both = read_write_file::open(io, here / "a");
    std::string text(300'000, ' ');
    for (std::size_t i = 0; i != text.size(); ++i) text[i] = static_cast<char>(i * i / 7 + i);
    std::string again(text.size(), ' ');
    std::size_t put = 0, got = 0;
    co_await both.write_all(3, text.data(), text.size(), {}, &put);
    CHECK(put == text.size());
    CHECK(co_await both.read_exactly(3, again.data(), again.size(), {}, &got) == again.size());
    CHECK(got == again.size());
    CHECK(again == text);
    CHECK(co_await both.read_exactly(text.size() + 3, again.data(), 1) == 0);
    got = 0;
    std::error_code error;
    try {
      co_await both.read_exactly(text.size() + 1, again.data(), 3, {}, &got);
    } catch (const std::system_error& e) {
      error = e.code();
    }
    CHECK(error == static_cast<std::errc>(ENODATA));
    CHECK(got == 2);
    stop_source stop;
    stop.request_stop();
    CHECK(co_await is_cancelled(both.read_exactly(0, again.data(), 3, stop.get_token())));
    CHECK(co_await is_cancelled(both.write_all(0, "new", 3, stop.get_token())));
  }());
  CHECK(here.text_of(here / "a").substr(0, 3) == std::string(3, '\0'));
}

TEST_CASE("file: a write beyond the end leaves zeros between, set_size() cuts and extends") {
  files_under_test here;
  io_service& io = here.io;
  io.run([&]() -> task<> {
    auto file = write_only_file::open(io, here / "a");
    CHECK(file.size() == 0);
    CHECK(co_await file.write(3, "xy", 2) == 2);
    CHECK(file.size() == 5);
    file.set_size(4);
    CHECK(file.size() == 4);
    file.set_size(6);
    CHECK(file.size() == 6);
    CHECK(co_await file.write(9, "", 0) == 0);
    CHECK(file.size() == 6);
  }());
  CHECK(here.text_of(here / "a") == std::string("\0\0\0x\0\0", 6));
}

TEST_CASE("file: a write at an offset that no file reaches is an error") {
  files_under_test here;
  here.write_text(here / "a", "abc");
  io_service& io = here.io;
  io.run([&]() -> task<> {
    auto file = write_only_file::open(io, here / "a");
    bool refused = false;
    try {
      static_cast<void>(co_await file.write(~std::uint64_t{0}, "def", 3));
    } catch (const std::system_error& error) {
      refused = error.code() == std::errc::invalid_argument;
    }
    CHECK(refused);
  }());
  CHECK(here.text_of(here / "a") == "abc");
}

TEST_CASE("file: a function takes any file that can be read, or any that can be written") {
  files_under_test here;
  io_service& io = here.io;
  const auto copy = [](const coracle::readable_file& from, coracle::writable_file& to) -> task<> {
    std::array<char, 64> buffer;
    const std::size_t size = co_await from.read(0, buffer.data(), buffer.size());
    CHECK(co_await to.write(0, buffer.data(), size) == size);
  };
  here.write_text(here / "a", "copied");
  io.run([&]() -> task<> {
    const auto a = read_only_file::open(io, here / "a");
    auto b = read_write_file::open(io, here / "b");
    auto c = write_only_file::open(io, here / "c");
    co_await copy(a, b);
    co_await copy(b, c);
  }());
  CHECK(here.text_of(here / "c") == "copied");
}

TEST_CASE("file: operations at the same time on one file each do their own part") {
  files_under_test here;
  io_service& io = here.io;
  constexpr std::size_t parts = 100;
  std::string found(parts * 2, '?'), wanted;
  for (std::size_t i = 0; i != parts; ++i) wanted += {static_cast<char>('a' + i % 26), '.'};
  io.run([&]() -> task<> {
    auto file = read_write_file::open(io, here / "a");
    const auto write = [&](std::size_t i) -> task<> {
      CHECK(co_await file.write(2 * i, &wanted[2 * i], 2) == 2);
    };
    const auto read = [&](std::size_t i) -> task<> {
      CHECK(co_await file.read(2 * i, &found[2 * i], 2) == 2);
    };
    std::vector<task<>> writes, reads;
    for (std::size_t i = 0; i != parts; ++i) {
      writes.push_back(write(i));
      reads.push_back(read(i));
    }
    co_await coracle::when_all(std::move(writes));
    co_await coracle::when_all(std::move(reads));
  }());
  CHECK(found == wanted);
}

TEST_CASE("file: stop requested before: nothing is read and nothing is written") {
  files_under_test here;
  io_service& io = here.io;
  stop_source source;
  source.request_stop();
  char byte = '?';
  io.run([&]() -> task<> {
    auto file = read_write_file::open(io, here / "a");
    CHECK(co_await file.write(0, "x", 1) == 1);
    CHECK(co_await is_cancelled(file.read(0, &byte, 1, source.get_token())));
    CHECK(co_await is_cancelled(file.write(0, "y", 1, source.get_token())));
    const auto inherits = [&]() -> task<bool> { co_return co_await is_cancelled(file.write(0, "z", 1)); };
    CHECK(co_await coracle::with_stop(inherits(), source.get_token()));
  }());
  CHECK(byte == '?');
  CHECK(here.text_of(here / "a") == "x");
}

TEST_CASE("file: stop requested during a copy ends it at the next read") {
  files_under_test here;
  io_service& io = here.io;
  stop_source source;
  std::uint64_t offset = 0;
  io.run([&]() -> task<> {
    auto file = read_write_file::open(io, here / "a");
    file.set_size(1 << 20);
    const auto read_for_ever = [&]() -> task<> {
      co_await io.schedule();
      std::array<char, 512> buffer;
      for (;;)
        offset += co_await file.read(offset % (1 << 20), buffer.data(), buffer.size(), source.get_token());
    };
    const auto stop = [&]() -> task<> {
      co_await io.schedule();
      source.request_stop();
    };
    const auto wait = [&]() -> task<> { CHECK(co_await is_cancelled(read_for_ever())); };
    co_await coracle::when_all(wait(), stop());
  }());
  CHECK(offset != 0);
}

TEST_CASE("file: stop requested while writes wait for a thread: each has written, or is cancelled") {
  files_under_test here;
  io_service& io = here.io;
  stop_source source;
  constexpr std::size_t parts = 200;
  std::array<bool, parts> cancelled{};
  io.run([&]() -> task<> {
    auto file = write_only_file::open(io, here / "a");
    file.set_size(parts);
    const auto write = [&](std::size_t i) -> task<> {
      cancelled[i] = co_await is_cancelled(file.write(i, "w", 1, source.get_token()));
    };
    const auto stop = [&]() -> task<> {
      source.request_stop();
      co_return;
    };
    std::vector<task<>> all;
    for (std::size_t i = 0; i != parts; ++i) all.push_back(write(i));
    all.push_back(stop());
    co_await coracle::when_all(std::move(all));
  }());
  const std::string text = here.text_of(here / "a");
  REQUIRE(text.size() == parts);
  for (std::size_t i = 0; i != parts; ++i) CHECK((text[i] == 'w') == !cancelled[i]);
}

TEST_CASE("file: several pieces of memory are written and read as one") {
  files_under_test here;
  io_service& io = here.io;
  io.run([&]() -> task<> {
    auto file = read_write_file::open(io, here / "a");
    std::string head = "head ", body(5000, 'b'), tail = " tail", all = head + body + tail;
    std::string text(all.size(), '-');
    const const_buffer parts[] = {head, {}, body, tail};
    const std::size_t first =
        co_await file.write(0, parts);  // a simulated disk may take less than everything
    std::size_t put = first;
    co_await file.write_all(0, parts, {}, &put);
    CHECK(put == all.size());
    CHECK(file.size() == all.size());
    for (std::size_t got = 0; got != all.size();) {
      const std::size_t half = (all.size() - got) / 2;
      const mutable_buffer room[] = {{text.data() + got, half},
                                     {text.data() + got + half, all.size() - got - half}};
      got += co_await file.read(got, room);
    }
    CHECK(text == all);
    const mutable_buffer beyond[] = {{text.data(), 3}, {text.data() + 3, 10}};
    const std::size_t at_end = co_await file.read(all.size() - 4, beyond);
    CHECK(at_end <= 4);
    CHECK(all.substr(all.size() - 4).starts_with(text.substr(0, at_end)));
    CHECK(co_await file.read(all.size(), beyond) == 0);
    const std::vector<const_buffer> too_many(1025, const_buffer{"x"});
    co_await file.write_all(all.size(), too_many);
    CHECK(file.size() == all.size() + too_many.size());
    std::error_code error;
    try {
      co_await file.write(0, too_many);
    } catch (const std::system_error& e) {
      error = e.code();
    }
    CHECK(error == std::errc::invalid_argument);
  }());
}

TEST_CASE("file: several pieces can only be written to a file opened for it, and as for reading") {
  files_under_test here;
  io_service& io = here.io;
  here.write_text(here / "a", "text");
  io.run([&]() -> task<> {
    auto appended = write_only_file::open(io, here / "a", coracle::file_open_mode::append);
    const const_buffer parts[] = {"=", "more"};
    const std::size_t put = co_await appended.write(0, parts);
    CHECK((put >= 1 && put <= 5));
    stop_source source;
    source.request_stop();
    CHECK(co_await is_cancelled(appended.write(0, parts, source.get_token())));
  }());
  CHECK(here.text_of(here / "a").starts_with("text="));
}

TEST_CASE("file: any number may share a lock, or one has it alone") {
  files_under_test here;
  io_service& io = here.io;
  here.write_text(here / "a", "text");
  auto one = read_write_file::open(io, here / "a"), other = read_write_file::open(io, here / "a");
  auto shared = try_lock_shared(one);
  REQUIRE(shared);
  CHECK(shared->owns_lock());
  CHECK(try_lock_shared(other));
  CHECK(!try_lock_exclusive(other));
  shared->unlock();
  CHECK(!shared->owns_lock());
  {
    auto alone = try_lock_exclusive(other);
    REQUIRE(alone);
    CHECK(!try_lock_shared(one));
    CHECK(!try_lock_exclusive(one));
    file_lock moved = std::move(*alone);
    CHECK(moved.owns_lock());
    CHECK(!alone->owns_lock());
    CHECK(!try_lock_shared(one));
    moved = std::move(*alone);  // which holds none: the one that it had is released at once
    CHECK(try_lock_shared(one));
  }
  CHECK(try_lock_exclusive(one));
}

TEST_CASE("file: closing a file releases its lock, closing another opened file does not") {
  files_under_test here;
  io_service& io = here.io;
  here.write_text(here / "a", "text");
  auto other = read_write_file::open(io, here / "a");
  {
    const auto mine = read_write_file::open(io, here / "a");
    const auto lock = try_lock_shared(mine);
    static_cast<void>(read_write_file::open(io, here / "a"));
    CHECK(!try_lock_exclusive(other));
  }
  CHECK(try_lock_exclusive(other));
}

TEST_CASE("file: what waits for a lock gets it when it is free, or is cancelled") {
  files_under_test here;
  io_service& io = here.io;
  here.write_text(here / "a", "text");
  auto one = read_write_file::open(io, here / "a"), other = read_write_file::open(io, here / "a");
  std::string order;
  io.run([&]() -> task<> {
    std::optional<file_lock> first = co_await coracle::lock_exclusive(one);
    const auto wait = [&]() -> task<> {
      const file_lock second = co_await coracle::lock_shared(other);
      order += "locked";
    };
    const auto release = [&]() -> task<> {
      co_await io.schedule();
      order += "released ";
      first.reset();
    };
    co_await coracle::when_all(wait(), release());
    first = try_lock_exclusive(one);
    stop_source source;
    const auto stop = [&]() -> task<> {
      co_await io.schedule();
      source.request_stop();
    };
    const auto give_up = [&]() -> task<> {
      CHECK(co_await is_cancelled(coracle::with_stop(coracle::lock_exclusive(other), source.get_token())));
    };
    co_await coracle::when_all(give_up(), stop());
    CHECK(!try_lock_shared(other));
    first.reset();
    co_await give_up();  // stop was requested before, so a lock that is free is not taken either
    CHECK(co_await is_cancelled(coracle::with_stop(coracle::lock_shared(other), source.get_token())));
  }());
  CHECK(order == "released locked");
}

TEST_CASE("file: a coroutine that waits may be destroyed: what it wrote from is not touched afterwards") {
  files_under_test here;
  io_service& io = here.io;
  auto file = write_only_file::open(io, here / "a");
  for (int i = 0; i != 100; ++i) {
    const auto text = std::make_unique<std::string>(1000, 'x');
    const auto one = coracle_test::started(file.write(0, text->data(), text->size()));
    const auto other = coracle_test::started(file.write(0, text->data(), text->size()));
  }
  CHECK(io.process_pending_events() == 0);
}
}  // namespace
