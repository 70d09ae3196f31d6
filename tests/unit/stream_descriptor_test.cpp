// tests/unit/stream_descriptor_test.cpp -- pipes, standard input and output, and other byte streams.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/buffered_writer.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/net/socket.hpp>
#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include "../support/test_coroutine.hpp"

namespace {
using coracle::io_service;
using coracle::make_pipe;
using coracle::stream_descriptor;
using coracle::task;
using coracle_test::test_coroutine;

static_assert(coracle::byte_stream<stream_descriptor> && coracle::byte_stream<coracle::net::socket>);

/// Reads to the end of the stream.
task<std::string> all_of(stream_descriptor& from) {
  std::string all, some(7, '?');
  while (const std::size_t got = co_await from.read_some(some)) all.append(some, 0, got);
  co_return all;
}
task<> write_and_close(stream_descriptor to, std::string text) {
  co_await to.write_all(text);
  to.close();
}

TEST_CASE(
    "stream_descriptor: what goes into a pipe comes out, and its end when the last writer has closed it") {
  io_service io;
  auto ends = make_pipe(io);
  const std::string much(200'000, 'p');  // more than a pipe holds
  const auto results =
      io.run(coracle::when_all(all_of(ends.read_end), write_and_close(std::move(ends.write_end), much)));
  CHECK(std::get<0>(results) == much);
}

TEST_CASE("stream_descriptor: {} behind a text or an array is the stop token, not a size of 0") {
  io_service io;
  auto ends = make_pipe(io);
  std::size_t written = 0;
  io.run(ends.write_end.write_all("text", {}, &written));
  CHECK(written == 4);
  std::byte room[8];
  CHECK(io.run(ends.read_end.read_some(room, {})) == 4);

  coracle::buffered_writer writer{ends.write_end};
  io.run(writer.write("more", {}, &(written = 0)));
  CHECK(written == 4);
  io.run(writer.flush());
  coracle::buffered_reader reader{ends.read_end};
  std::byte two[2];
  CHECK(io.run(reader.read_exactly(two, {})) == 2);
  CHECK(io.run(reader.read_some(two, {})) == 2);
}

TEST_CASE("stream_descriptor: a pointer and a size say where the bytes are, as a span does") {
  io_service io;
  auto ends = make_pipe(io);
  int sent[] = {7, 8, 9}, received[3] = {};
  CHECK(io.run(ends.write_end.write_some(sent, sizeof(int))) == sizeof(int));
  io.run(ends.write_end.write_all(sent + 1, 2 * sizeof(int)));
  CHECK(io.run(ends.read_end.read_some(received, sizeof received)) == sizeof received);
  CHECK(std::equal(sent, sent + 3, received));
}

TEST_CASE("stream_descriptor: a descriptor that blocks is left so, and blocks nobody here") {
  io_service io;
  int both[2];
  REQUIRE(::pipe2(both, O_CLOEXEC) == 0);
  stream_descriptor read_end{io, both[0]};
  stream_descriptor write_end{io, both[1]};
  CHECK((::fcntl(both[0], F_GETFL) & O_NONBLOCK) == 0);
  const std::string much(200'000, 'b');
  const auto results =
      io.run(coracle::when_all(all_of(read_end), write_and_close(std::move(write_end), much)));
  CHECK(std::get<0>(results) == much);
}

TEST_CASE("stream_descriptor: a read that waits is stopped, and takes nothing") {
  io_service io;
  auto ends = make_pipe(io);
  coracle::stop_source stop;
  std::string byte(1, '?');
  bool cancelled = false;
  const auto read = [&]() -> test_coroutine {
    try {
      co_await ends.read_end.read_some(byte, stop.get_token());
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
  };
  auto reading = read();
  reading.resume();
  CHECK(io.process_pending_events() == 0);
  stop.request_stop();
  while (!reading.done()) io.process_one_event();
  CHECK(cancelled);
  CHECK(io.run(ends.write_end.write_some(std::string_view{"x"})) == 1);
  CHECK(io.run(ends.read_end.read_some(byte)) == 1);
  CHECK(byte == "x");
}

TEST_CASE("stream_descriptor: a regular file is read and written in turn") {
  io_service io;
  char name[] = "/tmp/coracle_stream_XXXXXX";
  const int fd = ::mkostemp(name, O_CLOEXEC);
  REQUIRE(fd >= 0);
  stream_descriptor again{io, ::open(name, O_RDONLY | O_CLOEXEC)};
  ::unlink(name);
  stream_descriptor file{io, fd};
  const auto use = [&]() -> task<std::string> {
    co_await file.write_all("first ");
    co_await file.write_all("second");
    std::string text = co_await all_of(again);
    co_return text;
  };
  CHECK(io.run(use()) == "first second");
}

TEST_CASE("stream_descriptor: lines from a pipe, written by pieces") {
  io_service io;
  auto ends = make_pipe(io);
  const auto write = [&](stream_descriptor to) -> task<> {
    coracle::buffered_writer writer{to, 16};
    for (int i = 0; i != 10; ++i) co_await writer.write("line " + std::to_string(i) + "\n");
    co_await writer.flush();
    to.close();
  };
  const auto read = [&]() -> task<int> {
    coracle::buffered_reader reader{ends.read_end, 16};
    int count = 0;
    while (const auto line = co_await reader.read_line()) {
      CHECK(*line == "line " + std::to_string(count));
      ++count;
    }
    co_return count;
  };
  const auto results = io.run(coracle::when_all(read(), write(std::move(ends.write_end))));
  CHECK(std::get<0>(results) == 10);
}

TEST_CASE("stream_descriptor: a device without poll(2) is read and written, and a directory is an error") {
  io_service io;
  const auto opened = [&](const char* path, int flags) {
    return stream_descriptor{io, ::open(path, flags | O_CLOEXEC)};
  };
  const auto error_of = [&](auto work) {
    try {
      io.run(std::move(work));
    } catch (const std::system_error& error) {
      return error.code();
    }
    return std::error_code{};
  };
  std::string text(3, '?');
  stream_descriptor null = opened("/dev/null", O_RDWR);
  CHECK(io.run(null.read_some(text)) == 0);
  CHECK(io.run(null.write_some("text", 4)) == 4);
  io.run(coracle::when_all(null.wait_readable(), null.wait_writable()));
  CHECK(io.run(opened("/dev/zero", O_RDONLY).read_some(text)) == 3);
  CHECK(text == std::string(3, '\0'));
  CHECK(error_of(opened("/dev/full", O_WRONLY).write_some("text", 4)) == std::errc::no_space_on_device);
  CHECK(error_of(opened("/dev", O_RDONLY).read_some(text)) == std::errc::is_a_directory);
}

TEST_CASE(
    "stream_descriptor: the wrong end of a pipe is an error, in blocking mode too, and not waited for") {
  io_service io;
  for (const int mode : {0, O_NONBLOCK}) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC | mode) == 0);
    stream_descriptor read_end{io, ends[0]}, write_end{io, ends[1]};
    coracle::stop_source stop;
    std::string text = "x";
    int errors = 0;
    const auto count = [&](auto operation) -> task<> {
      try {
        co_await std::move(operation);
      } catch (const std::system_error& error) {
        errors += error.code() == std::errc::bad_file_descriptor;
      } catch (const coracle::operation_cancelled&) {
      }
    };
    const auto end_waits = [&]() -> task<> {
      co_await io.schedule();
      stop.request_stop();
    };
    io.run(coracle::when_all(count(write_end.read_some(text, stop.get_token())),
                             count(read_end.write_some(text, stop.get_token())), end_waits()));
    CHECK(errors == 2);
  }
}

TEST_CASE("stream_descriptor: errors are of the call, and what is no descriptor is refused") {
  io_service io;
  for (const int none : {-1, 900}) {
    const std::string why = "cannot use descriptor " + std::to_string(none) + ": Bad file descriptor";
    CHECK_THROWS_WITH_AS((stream_descriptor{io, none}), why.c_str(), std::system_error);
  }
  auto ends = make_pipe(io);
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  ends.read_end.close();
  try {
    io.run(ends.write_end.write_all("x"));
    FAIL("nobody reads");
  } catch (const std::system_error& e) {
    CHECK(e.code() == std::errc::broken_pipe);
  }
  std::signal(SIGPIPE, before);
}

TEST_CASE(
    "stream_descriptor: a copy of another library's descriptor can be awaited without reading from it") {
  io_service io;
  int both[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both) == 0);
  stream_descriptor watched{io, ::dup(both[0])};
  std::string order;
  const auto wait = [&]() -> task<> {
    co_await watched.wait_writable();
    order += "writable ";
    co_await watched.wait_readable();
    order += "readable ";
    co_await watched.wait_readable();  // still
    char byte = 0;
    CHECK(::read(both[0], &byte, 1) == 1);
    CHECK(byte == 'x');
    co_await watched.wait_readable();
    order += "end";
    CHECK(::read(both[0], &byte, 1) == 0);
  };
  const auto write = [&]() -> task<> {
    co_await io.schedule();
    order += "written ";
    CHECK(::write(both[1], "x", 1) == 1);
    co_await io.schedule();
    ::close(both[1]);
  };
  io.run(coracle::when_all(wait(), write()));
  CHECK(order == "writable written readable end");
  ::close(both[0]);

  stream_descriptor file{io, ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
  io.run(file.wait_readable());
}

TEST_CASE("stream_descriptor: standard input is a copy, which may be closed") {
  io_service io;
  int before = ::dup(STDIN_FILENO);
  int both[2];
  REQUIRE(::pipe2(both, O_CLOEXEC) == 0);
  REQUIRE(::dup2(both[0], STDIN_FILENO) == STDIN_FILENO);
  {
    auto input = stream_descriptor::standard_input(io);
    CHECK(input.native_handle() != STDIN_FILENO);
    CHECK(::write(both[1], "in", 2) == 2);
    std::string text(2, '?');
    CHECK(io.run(input.read_some(text)) == 2);
    CHECK(text == "in");
  }
  CHECK(::fcntl(STDIN_FILENO, F_GETFD) >= 0);
  if (before >= 0) ::dup2(before, STDIN_FILENO);
  for (const int each : {both[0], both[1], before}) ::close(each);
}

TEST_CASE("stream_descriptor: a copy of standard output does not become standard input") {
  // In a process of its own, so that no other thread opens a descriptor with the number that is closed.
  const pid_t child = ::fork();
  if (child == 0) {
    io_service io;
    ::close(STDIN_FILENO);
    ::_exit(stream_descriptor::standard_output(io).native_handle() > STDERR_FILENO ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("socket: bytes and text without a pointer and a size") {
  io_service io;
  auto listener = coracle::net::socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  const auto ask = [&]() -> task<std::string> {
    auto client = coracle::net::socket::create_tcpv4(io);
    co_await client.connect(listener.local_endpoint());
    co_await client.send_all("question\n");
    coracle::buffered_reader reader{client};
    const auto line = co_await reader.read_line();
    co_return std::string(line.value());
  };
  const auto answer = [&]() -> task<> {
    auto client = co_await listener.accept();
    coracle::buffered_reader reader{client};
    const auto line = co_await reader.read_line();
    co_await client.send_all("answer to ");
    co_await client.send_all(std::as_bytes(std::span{*line}));
    co_await client.send("\n");
  };
  const auto results = io.run(coracle::when_all(ask(), answer()));
  CHECK(std::get<0>(results) == "answer to question");
}
}  // namespace
