// tests/unit/io_operation_fixture.hpp -- coroutines that await one I/O operation, with an address or without.
// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <coracle/io/detail/io_operation.hpp>
#include <cstring>
#include <utility>

#include "../support/socket_pair.hpp"
#include "../support/test_coroutine.hpp"

namespace coracle_test::io_operations {
inline test_coroutine received(const io_descriptor& from, outcome& seen, coracle::stop_token token = {}) {
  co_await note(receive(from, seen.buffer, sizeof seen.buffer, std::move(token)), seen);
}
/// Sends as much as the socket can take without waiting.
inline void send_now(const io_descriptor& to, const char* text) {
  const auto size = std::strlen(text);
  REQUIRE(::send(to.native_handle(), text, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size));
}

/// An operation that contains its address.
class [[nodiscard]] address_operation : public coracle::detail::io_operation {
 public:
  address_operation(const io_descriptor& on, io_opcode code, sockaddr_in& with, void* data = nullptr,
                    std::size_t bytes = 0) noexcept
      : io_operation(on, code, data, bytes, {}) {
    address = &with;
    address_size = sizeof with;
  }
  std::int64_t await_resume() { return take_result_or_errno(); }
};
/// Binds the socket to a free port.
inline sockaddr_in loopback(int fd) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0);
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  return address;
}
}  // namespace coracle_test::io_operations
