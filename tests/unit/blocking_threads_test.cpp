// tests/unit/blocking_threads_test.cpp -- operations on files that threads carry out.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <coracle/core/sync_wait.hpp>
#include <coracle/io/io_service.hpp>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/epoll_system.hpp"
#include "../support/socket_pair.hpp"
#include "../support/test_coroutine.hpp"
#include "../support/thread_names.hpp"

namespace {
using coracle::io_service;
using coracle::stop_source;
using coracle::stop_token;
using coracle_test::epoll_system;
using coracle_test::io_descriptor;
using coracle_test::io_descriptor_kind;
using coracle_test::io_opcode;
using coracle_test::note;
using coracle_test::outcome;
using coracle_test::pipe_ends;
using coracle_test::raw_operation;
using coracle_test::test_coroutine;

io_descriptor temporary_file(io_service& io, io_descriptor_kind kind = io_descriptor_kind::file) {
  char name[] = "/tmp/coracle_io_operation_XXXXXX";
  const int fd = ::mkostemp(name, O_CLOEXEC);
  REQUIRE(fd >= 0);
  ::unlink(name);
  return {io, fd, kind};
}

TEST_CASE("file operation: write_at and read_at, also beyond 4 GiB and at the end") {
  epoll_system system;
  io_service io{system};
  const io_descriptor file = temporary_file(io);
  constexpr std::uint64_t far = std::uint64_t{5} << 30;
  outcome written, seen, at_end;
  const auto use = [&]() -> test_coroutine {
    co_await note(raw_operation(file, io_opcode::write_at, "far away", 8, {}, far), written);
    co_await note(raw_operation(file, io_opcode::read_at, seen.buffer, 4, {}, far + 4), seen);
    co_await note(raw_operation(file, io_opcode::read_at, at_end.buffer, 4, {}, far + 8), at_end);
  };
  auto using_it = use();
  using_it.resume();
  while (!using_it.done()) io.process_one_event();
  CHECK(written.result == 8);
  CHECK(seen.text() == "away");
  CHECK(at_end.result == 0);
}

TEST_CASE("file operation: an error of a file is an error of its operation") {
  epoll_system system;
  io_service io{system};
  const io_descriptor read_only{io, ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC), io_descriptor_kind::file};
  outcome seen;
  const auto use = [&]() -> test_coroutine {
    co_await note(raw_operation(read_only, io_opcode::write_at, "x", 1), seen);
  };
  auto using_it = use();
  using_it.resume();
  while (!using_it.done()) io.process_one_event();
  CHECK(seen.error == EBADF);
}

/// Writes more to a blocking pipe than it holds, so that a file thread stays inside write() until the pipe is
/// read.
class held_up_thread {
 public:
  explicit held_up_thread(io_service& io) : pipe_(io, io_descriptor_kind::file), writing_(write()) {
    writing_.resume();
    pollfd begun{pipe_.read.native_handle(), POLLIN, 0};
    REQUIRE(::poll(&begun, 1, -1) == 1);
  }
  void request_stop() { source_.request_stop(); }
  void let_go() {
    std::vector<char> taken(much_.size());
    for (std::size_t n = 0; n != taken.size();) {
      const ssize_t more = ::read(pipe_.read.native_handle(), taken.data(), taken.size() - n);
      if (more > 0) n += static_cast<std::size_t>(more);
    }
  }
  void destroy() { writing_.destroy(); }
  void close() { pipe_.write.close(); }
  [[nodiscard]] bool done() const { return writing_.done(); }
  [[nodiscard]] bool has_written_all() const {
    return seen_.result == static_cast<std::int64_t>(much_.size());
  }

 private:
  test_coroutine write() {
    co_await note(
        raw_operation(pipe_.write, io_opcode::write, much_.data(), much_.size(), source_.get_token()), seen_);
  }

  const std::string much_ = std::string(256 * 1024, 'x');
  stop_source source_;
  outcome seen_;
  pipe_ends pipe_;
  test_coroutine writing_;
};

TEST_CASE(
    "file operation: a queued file operation is stopped, or destroyed; a running one ends as it would have") {
  epoll_system system;
  io_service io{system};
  const io_descriptor file = temporary_file(io, io_descriptor_kind::write_through_file);
  std::deque<held_up_thread> threads;  // as many as there are
  for (int i = 0; i != 4; ++i) threads.emplace_back(io);
  stop_source source;
  outcome stopped, destroyed, last;
  const auto write = [&](outcome& seen, const char* text, stop_token token) -> test_coroutine {
    co_await note(raw_operation(file, io_opcode::write_at, text, 1, std::move(token)), seen);
  };
  auto first = write(stopped, "1", source.get_token()), second = write(destroyed, "2", source.get_token());
  auto third = write(last, "3", {});
  for (test_coroutine* const each : {&first, &second, &third}) each->resume();
  second.destroy();
  source.request_stop();
  for (held_up_thread& each : threads) each.request_stop();
  CHECK_FALSE(stopped.over);
  CHECK(io.process_pending_events() == 1);
  CHECK(stopped.cancelled);
  for (held_up_thread& each : threads) {
    each.let_go();
    while (!each.done()) io.process_one_event();
    CHECK(each.has_written_all());
  }
  while (!third.done()) io.process_one_event();
  char byte = 0;
  CHECK(::pread(file.native_handle(), &byte, 1, 0) == 1);
  CHECK(byte == '3');
  CHECK_FALSE(destroyed.over);
}

TEST_CASE(
    "file operation: stop requested before: cancelled, and nothing is read, cached or not, nor written") {
  epoll_system system;
  io_service io{system};
  const io_descriptor file = temporary_file(io);
  REQUIRE(::pwrite(file.native_handle(), "old", 3, 0) == 3);
  stop_source source;
  source.request_stop();
  outcome reading, writing;
  coracle::sync_wait(
      note(raw_operation(file, io_opcode::read_at, reading.buffer, 3, source.get_token()), reading));
  coracle::sync_wait(note(raw_operation(file, io_opcode::write_at, "new", 3, source.get_token()), writing));
  CHECK(reading.cancelled);
  CHECK(writing.cancelled);
  char found[4] = {};
  CHECK(::pread(file.native_handle(), found, 3, 0) == 3);
  CHECK(std::string(found) == "old");
}

TEST_CASE("file operation: the threads are used again, and have a name for debuggers") {
  epoll_system system;
  io_service io{system};
  const io_descriptor file = temporary_file(io, io_descriptor_kind::write_through_file);
  std::int64_t written = 0;
  const auto write_all = [&]() -> test_coroutine {
    for (int i = 0; i != 100; ++i) written += co_await raw_operation(file, io_opcode::write_at, "x", 1);
  };
  auto writing = write_all();
  writing.resume();
  while (!writing.done()) io.process_one_event();
  CHECK(written == 100);
  CHECK(coracle_test::has_thread_named("coracle-files"));
}

TEST_CASE("file operation: destroying a coroutine whose file operation runs waits for it") {
  epoll_system system;
  io_service io{system};
  held_up_thread thread{io};
  std::thread other{[&] { thread.let_go(); }};
  thread.destroy();
  other.join();
  CHECK(io.process_pending_events() == 0);
}

TEST_CASE("file operation: a descriptor closed under a file thread ends the program and says so") {
  const std::string said = coracle_test::abort_message([] {
    epoll_system system;
    io_service io{system};
    held_up_thread thread{io};
    thread.close();
  });
  CHECK(said.find("coracle: a file or socket was closed while operations on it were pending") == 0);
}

TEST_CASE("file operation: what is in the page cache is read without a thread, but not for ever") {
  epoll_system system;
  io_service io{system};
  const io_descriptor file = temporary_file(io);
  REQUIRE(::pwrite(file.native_handle(), "cached", 6, 0) == 6);
  char buffer[6];
  int reads = 0;
  const auto read_on = [&]() -> test_coroutine {
    co_await io.schedule();
    for (; reads != 200; ++reads) co_await raw_operation(file, io_opcode::read_at, buffer, sizeof buffer);
  };
  auto reading = read_on();
  reading.resume();
  CHECK(io.process_one_event() == 1);
  CHECK(reads > 0);
  CHECK(reads < 200);
  while (!reading.done()) io.process_one_event();
}

TEST_CASE("file operation: a read that the end of the file cuts off takes no thread either") {
  epoll_system system;
  io_service io{system};
  const io_descriptor file = temporary_file(io);
  REQUIRE(::pwrite(file.native_handle(), "cached", 6, 0) == 6);
  outcome seen;
  auto reading = coracle_test::started(
      note(raw_operation(file, io_opcode::read_at, seen.buffer, sizeof seen.buffer, {}, 2), seen));
  CHECK(seen.over);
  CHECK(seen.text() == "ched");
}

TEST_CASE("file operation: a read that the page cache has only the beginning of is not cut off there") {
  constexpr std::size_t page = 4096;
  epoll_system system;
  io_service io{system};
  const io_descriptor file = temporary_file(io);
  const int fd = file.native_handle();
  const std::string bytes(2 * page, 'x');
  // One call each, because the cache keeps or drops what one call has written as a whole.
  for (const std::size_t at : {std::size_t{0}, page})
    REQUIRE(::pwrite(fd, bytes.data(), page, static_cast<off_t>(at)) == static_cast<ssize_t>(page));
  REQUIRE(::fsync(fd) == 0);
  REQUIRE(::posix_fadvise(fd, page, page, POSIX_FADV_DONTNEED) == 0);  // tmpfs keeps it
  std::string buffer(2 * page, ' ');
  outcome seen;
  auto reading = coracle_test::started(
      note(raw_operation(file, io_opcode::read_at, buffer.data(), buffer.size()), seen));
  while (!seen.over) io.process_one_event();
  CHECK(seen.result == static_cast<std::int64_t>(bytes.size()));
  CHECK((buffer == bytes));
}

TEST_CASE("file operation: only what the page cache takes and gives is carried out where it is awaited") {
  epoll_system system;
  io_service io{system};
  for (const auto kind : {io_descriptor_kind::file, io_descriptor_kind::write_through_file,
                          io_descriptor_kind::uncached_file}) {
    const io_descriptor file = temporary_file(io, kind);
    REQUIRE(::pwrite(file.native_handle(), "cached", 6, 0) == 6);
    outcome written, read;
    auto writing =
        coracle_test::started(note(raw_operation(file, io_opcode::write_at, "written", 7), written));
    CHECK(written.over == (kind == io_descriptor_kind::file));
    while (!written.over) io.process_one_event();
    auto reading = coracle_test::started(note(raw_operation(file, io_opcode::read_at, read.buffer, 7), read));
    CHECK(read.over == (kind != io_descriptor_kind::uncached_file));
    while (!read.over) io.process_one_event();
    CHECK(written.result == 7);
    CHECK(read.text() == "written");
  }
}

TEST_CASE("file operation: more than a megabyte is for a thread to copy") {
  epoll_system system;
  io_service io{system};
  const io_descriptor file = temporary_file(io);
  std::string bytes((1 << 20) + 1, 'x');
  outcome most, more;
  auto first =
      coracle_test::started(note(raw_operation(file, io_opcode::write_at, bytes.data(), 1 << 20), most));
  CHECK(most.over);
  auto second =
      coracle_test::started(note(raw_operation(file, io_opcode::write_at, bytes.data(), bytes.size()), more));
  CHECK_FALSE(more.over);
  while (!more.over) io.process_one_event();
  CHECK(more.result == (1 << 20) + 1);
}

/// Uses the system's files, and a clock of the test that advances by a given step each time it is read.
class slow_clock final : public epoll_system {
 public:
  std::chrono::steady_clock::time_point now() noexcept override { return {}; }
  std::uint64_t ticks() noexcept override { return ticks_ += each; }
  std::uint64_t each = 1;

 private:
  std::uint64_t ticks_ = 0;
};

TEST_CASE(
    "file operation: after a slow write the threads carry out what is written, longer each time, to a "
    "hundred "
    "times as long") {
  using trust = coracle::detail::write_trust;
  slow_clock system;
  io_service io{system};
  const io_descriptor file = temporary_file(io);
  const auto is_carried_out_at_once = [&] {
    outcome seen;
    auto writing = coracle_test::started(note(raw_operation(file, io_opcode::write_at, "x", 1), seen));
    const bool at_once = seen.over;
    while (!seen.over) io.process_one_event();
    CHECK(seen.result == 1);
    return at_once;
  };
  const auto pass = [&](std::uint64_t ticks) {
    const std::uint64_t before = std::exchange(system.each, ticks);
    static_cast<void>(system.ticks());
    system.each = before;
  };
  const auto write_slowly = [&] {
    system.each = trust::slow;
    CHECK(is_carried_out_at_once());
    system.each = 1;
  };
  CHECK(is_carried_out_at_once());
  for (const std::uint64_t rest : {1u, 4u, 16u, 64u, 100u, 100u}) {
    write_slowly();
    CHECK_FALSE(is_carried_out_at_once());
    pass(rest * trust::slow - trust::slow / 2);
    CHECK_FALSE(is_carried_out_at_once());
    pass(trust::slow / 2);
    CHECK(is_carried_out_at_once());
  }
  pass(trust::longest_rest * trust::slow);
  write_slowly();  // on its own: a new series
  pass(trust::slow);
  CHECK(is_carried_out_at_once());
}
}  // namespace
