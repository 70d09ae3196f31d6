// tests/support/socket_pair.hpp -- connected sockets and pipes, and minimal operations on them.
// SPDX-License-Identifier: MIT
#pragma once
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/detail/io_operation.hpp>
#include <coracle/io/io_service.hpp>
#include <cstdlib>
#include <string>
#include <system_error>

namespace coracle_test {
using coracle::detail::io_descriptor;
using coracle::detail::io_descriptor_kind;
using coracle::detail::io_opcode;

/// An operation that returns the result of its system call.
class [[nodiscard]] raw_operation : public coracle::detail::io_operation {
 public:
  template <class Data>
  raw_operation(const io_descriptor& on, io_opcode code, Data* data, std::size_t bytes,
                coracle::stop_token token = {}, std::uint64_t at = 0) noexcept
      : io_operation(on, code, data, bytes, std::move(token)) {
    offset = at;
  }
  std::int64_t await_resume() { return take_result("do what the test wants"); }
};
/// The outcome of one operation.
struct outcome {
  std::int64_t result = -1;
  char buffer[16] = {};
  bool cancelled = false;
  int error = 0;
  const coracle::executor* where = nullptr;
  bool over = false;

  [[nodiscard]] std::string text() const { return {buffer, static_cast<std::size_t>(result)}; }
};
inline coracle::task<> note(raw_operation operation, outcome& seen) {
  try {
    seen.result = co_await std::move(operation);
  } catch (const coracle::operation_cancelled&) {
    seen.cancelled = true;
  } catch (const std::system_error& e) {
    seen.error = e.code().value();
  }
  seen.where = coracle::current_executor();
  seen.over = true;
}

inline raw_operation receive(const io_descriptor& from, void* to, std::size_t size,
                             coracle::stop_token token = {}) noexcept {
  return {from, io_opcode::receive, to, size, std::move(token)};
}
inline raw_operation send(const io_descriptor& to, const void* from, std::size_t size,
                          coracle::stop_token token = {}) noexcept {
  return {to, io_opcode::send, from, size, std::move(token)};
}

struct socket_pair {
  explicit socket_pair(coracle::io_service& service, int type = SOCK_STREAM) {
    int ends[2];
    if (::socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    first = io_descriptor{service, ends[0], io_descriptor_kind::pollable};
    second = io_descriptor{service, ends[1], io_descriptor_kind::pollable};
  }
  io_descriptor first, second;
};

/// A pipe; blocking if `kind` is `file`.
struct pipe_ends {
  pipe_ends(coracle::io_service& service, io_descriptor_kind kind) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | (kind == io_descriptor_kind::pollable ? O_NONBLOCK : 0)) != 0) std::abort();
    read = io_descriptor{service, ends[0], kind};
    write = io_descriptor{service, ends[1], kind};
  }
  io_descriptor read, write;
};
}  // namespace coracle_test
