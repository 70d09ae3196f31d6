// tests/unit/system_call_test.cpp -- operations on files when system calls return unusual results.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <coracle/io/io_service.hpp>
#include <cstdlib>

#include "../support/epoll_system.hpp"
#include "../support/socket_pair.hpp"
#include "../support/test_coroutine.hpp"

namespace {
bool answers_oddly = false;
}  // namespace

// Both replace the system's functions.
extern "C" ssize_t preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  return answers_oddly ? 0 : ::syscall(SYS_preadv2, fd, parts, count, offset, 0, flags);
}
extern "C" int fsync(int fd) {
  if (!answers_oddly) return static_cast<int>(::syscall(SYS_fsync, fd));
  errno = ECANCELED;
  return -1;
}

namespace {
using coracle::io_service;
using coracle_test::io_descriptor;
using coracle_test::io_opcode;
using coracle_test::note;
using coracle_test::outcome;
using coracle_test::raw_operation;

/// Returns the result of an operation on a file of four bytes.
outcome end_of(io_opcode code, std::uint64_t offset = 0) {
  coracle_test::epoll_system system;
  io_service io{system};
  char name[] = "/tmp/coracle_system_call_XXXXXX";
  const int fd = ::mkostemp(name, O_CLOEXEC);
  REQUIRE(fd >= 0);
  ::unlink(name);
  const io_descriptor file{io, fd, coracle_test::io_descriptor_kind::file};
  REQUIRE(::pwrite(fd, "more", 4, 0) == 4);
  outcome seen;
  const auto use = [&]() -> coracle_test::test_coroutine {
    co_await note(raw_operation(file, code, seen.buffer, 8, {}, offset), seen);
  };
  answers_oddly = true;
  auto using_it = use();
  using_it.resume();
  while (!using_it.done()) io.process_one_event();
  answers_oddly = false;
  return seen;
}

TEST_CASE("file operation: read_at believes no end of the file that is not there") {
  CHECK(end_of(io_opcode::read_at).text() == "more");
  CHECK(end_of(io_opcode::read_at, 3).text() == "e");
  CHECK(end_of(io_opcode::read_at, 4).result == 0);
}

TEST_CASE("file operation: an ECANCELED of the system, where nobody has asked to stop, is an error") {
  const outcome seen = end_of(io_opcode::sync);
  CHECK(seen.error == ECANCELED);
  CHECK(!seen.cancelled);
}
}  // namespace
